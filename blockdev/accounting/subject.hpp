// Subject: the device that is accounted, as its statistics need to know it.
//
// Threads: immutable.
#pragma once

#include <cstdint>
#include <string>

namespace blkscope {

struct Subject {
    int instance = -1;  // its number; negative: nothing is published
    std::string name;   // nbd and the number
    uint64_t size_bytes = 0;
    uint32_t block_bytes = 1;
    uint32_t stats_rate = 0;  // one read or write in so many is in its IoStats; 0: none
    std::string product;      // what the backing is called, without its folders

    [[nodiscard]] bool published() const { return instance >= 0; }
};

}  // namespace blkscope
