// Listener: takes the clients of one listening socket, one after the other.
//
// When the process has no descriptors left, a client that waits in the queue would wait until it
// gives up, and nobody would know why. The one descriptor that is kept for that lets it in, and the
// host decides whose place it gets, or none.
//
// Ownership: owns the acceptor, borrows the host. A client's socket is the host's.
// Threads:   the control thread.
// Errors:    none; where accepting fails otherwise it tries again after a pause.
#pragma once

#include <memory>

#include "driver/nbd/server/executor.hpp"

namespace blkscope::nbd {

class Listener {
  public:
    /// The part that gets the clients.
    class Host {
      public:
        virtual ~Host() = default;
        virtual void admit(std::unique_ptr<StreamSocket> socket) = 0;
        /// There are no descriptors left but this client's: `error` says which kind of none. A
        /// descriptor is free again when this returns.
        virtual void admit_in_need(std::unique_ptr<StreamSocket> socket, int error) = 0;
    };

    Listener(Executor& executor, std::unique_ptr<Acceptor> acceptor);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// From now on `host` gets the clients that come.
    void start(Host& host);
    /// No client comes any more. Again is allowed.
    void stop();

    /// Where clients find it, without an export's name.
    [[nodiscard]] const Uri& address() const { return acceptor_->address(); }

  private:
    void accept();
    void accepted(int error, std::unique_ptr<StreamSocket> socket);
    bool accept_in_need(int error);

    std::unique_ptr<Acceptor> acceptor_;
    std::unique_ptr<Timer> pause_;
    Host* host_ = nullptr;  // once started
};

}  // namespace blkscope::nbd
