// What a device's error kstat counts, and which errno means what.
//
//     refused as invalid (outside, misaligned, unknown)      Illegal Request, and nothing else
//     succeeded after EINTR or EAGAIN                        Soft, Recoverable
//     the kernel or the way to the medium refused it         Transport
//     any other failure                                      Hard, and its cause where the errno
//                                                            names one
//
// Threads: written by a worker, under the device's lock; each count may be observed by any thread.
// Source:  blkdev's and sd's use of their error kstats; the Linux block layer's errnos
//          (blk_errors[] in block/blk-core.c, Linux 6.1).
#pragma once

#include <cstdint>

namespace blkscope {

struct ErrorCounts {
    uint32_t soft = 0;
    uint32_t hard = 0;
    uint32_t transport = 0;
    uint32_t media = 0;
    uint32_t not_ready = 0;
    uint32_t no_device = 0;
    uint32_t recoverable = 0;
    uint32_t illegal = 0;

    /// A request ended with this errno.
    void failed(int error);
    /// A request succeeded, though an operation of it had to be tried again.
    void recovered();
    /// A request was not accepted: the client's mistake, not the device's.
    void refused();
};

}  // namespace blkscope
