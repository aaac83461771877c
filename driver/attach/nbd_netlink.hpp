// The kernel's nbd driver over generic netlink, for requests that nbd-client(8) 3.24 cannot make. A
// device without connections keeps its requests for a while and accepts new connections.
//
// Ownership: owns its netlink socket.
// Threads:   a single one.
// Errors:    std::system_error.
// Source:    Linux 6.1, drivers/block/nbd.c and include/uapi/linux/nbd-netlink.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/descriptor.hpp"

namespace blkscope {

class NbdNetlink {
  public:
    NbdNetlink();

    /// Sets how long device `index` keeps requests without a connection before it fails them.
    void set_dead_timeout(uint32_t index, std::chrono::seconds dead_timeout);

    /// Replaces a dead connection of the device by a negotiated one. False if no connection is
    /// dead.
    bool replace_connection(uint32_t index, int socket);

    /// Waits until the driver announces a dead connection of any device. False: the time has
    /// passed.
    bool wait_for_dead_connection(std::chrono::milliseconds limit);

  private:
    void find_family();
    int ask(std::vector<std::byte> message);
    std::vector<std::byte> receive();

    Descriptor socket_;
    uint16_t family_ = 0;
    uint32_t sequence_ = 0;
    bool dead_connection_seen_ = false;  // announced during ask()
};

}  // namespace blkscope
