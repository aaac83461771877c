// Listener: takes the clients of one listening socket, one after the other.
//
// Ownership: owns the acceptor. A client's socket goes to the one who takes it.
// Threads:   the control thread.
// Errors:    none; where accepting fails it tries again after a pause.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "driver/nbd/server/executor.hpp"

namespace blkscope::nbd {

class Listener {
  public:
    Listener(Executor& executor, std::unique_ptr<Acceptor> acceptor);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    using Take = std::function<void(std::unique_ptr<StreamSocket>)>;
    /// From now on `take` gets the clients that come.
    void start(Take take);
    /// No client comes any more. Again is allowed.
    void stop();

    /// Where clients find it, without an export's name.
    [[nodiscard]] const Uri& address() const { return acceptor_->address(); }

  private:
    void accept();
    void accepted(int error, std::unique_ptr<StreamSocket> socket);

    std::unique_ptr<Acceptor> acceptor_;
    std::unique_ptr<Timer> pause_;
    Take take_;
};

}  // namespace blkscope::nbd
