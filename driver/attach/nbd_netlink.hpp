// The kernel's nbd driver over generic netlink: what nbd-client(8) 3.24 does not ask of it. A
// device whose connections are gone keeps what it is asked for a while, and takes new connections.
//
// Ownership: owns its netlink socket.
// Threads:   one.
// Errors:    std::system_error.
// Source:    Linux 6.1, drivers/block/nbd.c and include/uapi/linux/nbd-netlink.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace blkscope {

class NbdNetlink {
  public:
    NbdNetlink();
    ~NbdNetlink();
    NbdNetlink(const NbdNetlink&) = delete;
    NbdNetlink& operator=(const NbdNetlink&) = delete;

    /// Device `index` holds requests for so long when it has no connection, before it fails them.
    void set_patience(uint32_t index, std::chrono::seconds patience);

    /// Gives the device a negotiated connection in place of one that is dead. False if none is.
    bool replace_connection(uint32_t index, int socket);

    /// Waits until the driver says that a connection of some device has died; false if that time
    /// passes without.
    bool wait_for_death(std::chrono::milliseconds limit);

  private:
    void find_family();
    int ask(std::vector<std::byte> message);
    std::vector<std::byte> receive();

    int socket_ = -1;
    uint16_t family_ = 0;
    uint32_t sequence_ = 0;
    bool death_heard_ = false;  // while another answer was waited for
};

}  // namespace blkscope
