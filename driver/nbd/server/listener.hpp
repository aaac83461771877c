// Listener: accepts the clients of one listening socket, one after the other.
//
// Without free descriptors, a queued client would wait until its own timeout, and no log would say
// why. The listener then uses the spare descriptor to accept the client. The host ends a handshake
// in its favour or refuses it.
//
// Ownership: owns the acceptor, borrows the host. The host owns a client's socket.
// Threads:   the control thread.
// Errors:    none. After another error the listener tries again after a pause.
#pragma once

#include <memory>
#include <vector>

#include "driver/nbd/server/executor.hpp"

namespace blkscope::nbd {

class Listener {
  public:
    /// The class that gets the clients.
    class Host {
      public:
        virtual ~Host() = default;
        virtual void admit(std::unique_ptr<StreamSocket> socket) = 0;
        /// Takes a client that was accepted with the spare descriptor. `error` is EMFILE or ENFILE.
        /// On return a descriptor is free again.
        virtual void admit_in_need(std::unique_ptr<StreamSocket> socket, int error) = 0;
    };

    Listener(Executor& executor, std::unique_ptr<Acceptor> acceptor);
    ~Listener();
    Listener& operator=(Listener&&) = delete;

    /// From now on `host` gets new clients.
    void start(Host& host);
    /// Stops accepting. May be called again.
    void stop();

    /// The URI of the socket, without an export's name.
    [[nodiscard]] const Uri& address() const { return acceptor_->address(); }

  private:
    void accept();
    void accepted(Result<std::unique_ptr<StreamSocket>> socket);
    bool accept_in_need(int error);

    std::unique_ptr<Acceptor> acceptor_;
    std::unique_ptr<Timer> pause_;
    Host* host_ = nullptr;  // null until start()
};

/// All listening sockets of a server.
///
/// Ownership: owns the listeners; borrows the executor and the host.
class Listeners {
  public:
    explicit Listeners(Executor& executor) : executor_(executor) {}

    /// Adds a listener and returns its address, which remove() takes.
    Uri add(std::unique_ptr<Acceptor> acceptor);
    /// Removes a listener. Clients that it has accepted stay connected.
    void remove(const Uri& address);
    void remove_all() { listeners_.clear(); }

    /// From now on `host` gets new clients, also from listeners added later.
    void start(Listener::Host& host);

    /// The addresses to tell clients, Unix sockets first.
    [[nodiscard]] std::vector<Uri> addresses() const;

  private:
    Executor& executor_;
    Listener::Host* host_ = nullptr;  // null until start()
    std::vector<std::unique_ptr<Listener>> listeners_;
};

}  // namespace blkscope::nbd
