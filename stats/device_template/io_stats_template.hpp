// The template of stats(3) for a device's blob, for the writer and the readers of such blobs. A
// blob has the hash of its template, and the template has the names.
//
//     read_service_ns   write_service_ns    time with the backing
//     read_wait_ns      write_wait_ns       time before
//     size_bytes                            of a read or a write
//     depth                                 reads and writes in the device on arrival
//
// Each variable has its sum, its extremes, a histogram and a t-digest.
//
// Units:     nanoseconds, bytes, requests, as the names say.
// Ownership: none; templates live as long as the process.
// Threads:   any.
// Errors:    make() returns a negative errno.
// Source:    stats(3), stats_tpl_alloc().
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

    /// Makes the template at the first call. Returns its number, the same at every call, or a
    /// negative errno.
    static int make();
};

}  // namespace blkscope
