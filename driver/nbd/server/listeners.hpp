// Listeners: all the places where a server's clients find it.
//
// Ownership: owns the listeners; borrows the executor and the host.
// Threads:   the control thread.
// Errors:    none.
#pragma once

#include <memory>
#include <vector>

#include "driver/nbd/server/executor.hpp"
#include "driver/nbd/server/listener.hpp"

namespace blkscope::nbd {

class Listeners {
  public:
    explicit Listeners(Executor& executor) : executor_(executor) {}

    /// Gives the address by which the listener is known from here.
    Uri add(std::unique_ptr<Acceptor> acceptor);
    /// Clients that came through it stay.
    void remove(const Uri& address);
    void remove_all();

    /// From now on `host` gets the clients that come; through later listeners, too.
    void start(Listener::Host& host);

    /// The addresses that clients can be told, Unix sockets first.
    [[nodiscard]] std::vector<Uri> addresses() const;

  private:
    Executor& executor_;
    Listener::Host* host_ = nullptr;  // once started
    std::vector<std::unique_ptr<Listener>> listeners_;
};

}  // namespace blkscope::nbd
