// Listeners: all listening sockets of a server.
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

    /// Adds a listener and returns its address, which remove() takes.
    Uri add(std::unique_ptr<Acceptor> acceptor);
    /// Removes a listener. Clients that it has accepted stay connected.
    void remove(const Uri& address);
    void remove_all();

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
