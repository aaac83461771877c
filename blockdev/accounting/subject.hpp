// Subject: the properties of a device that its statistics need.
//
// Units:     bytes.
// Ownership: owns its strings.
// Threads:   any; a device's subject never changes.
// Errors:    none.
#pragma once

#include <cstdint>
#include <string>

namespace blkscope {

struct Subject {
    int instance = -1;  // the device's number; negative: nothing is published
    std::string name;   // nbd and the number
    uint64_t size_bytes = 0;
    uint32_t block_bytes = 1;
    uint32_t stats_rate = 0;    // IoStats sample one read or write in so many; 0: none
    uint32_t client_stats = 0;  // clients with statistics of their own, at most
    std::string product;      // the backing's description, without folders
    bool ticks_are_ns = false;  // of the stamps of requests: see Kernel

    [[nodiscard]] bool published() const { return instance >= 0; }
};

}  // namespace blkscope
