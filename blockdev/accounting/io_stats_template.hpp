// The template of stats(3) that a device's blob is made from, for those who feed it and those who
// read it: a blob has the hash of its template, and the template has the names.
//
//     read_service_ns   write_service_ns    with the backing
//     read_wait_ns      write_wait_ns       before that
//     size_bytes                            of a read or a write
//     depth                                 reads and writes in the device when it came
//
// Each has its sum, its extremes, a histogram and a t-digest.
//
// Threads: any.
#pragma once

#include <cstdint>

namespace blkscope {

struct IoStatsTemplate {
    static constexpr const char* name = "blkscope.io";

    /// The variables, in the template's order.
    enum Voi : int32_t {
        read_service,
        read_wait,
        write_service,
        write_wait,
        size,
        depth,
        voi_count
    };

    /// The number of the template, the same at every call; negative errno if it cannot be made.
    static int make();
};

}  // namespace blkscope
