// ErrorCounts: the counters of a device's error kstat, and how an errno is classified.
//
//     refused as invalid (outside, misaligned, unknown)      Illegal Request, and nothing else
//     succeeded after EINTR or EAGAIN                        Soft, Recoverable
//     refused by the kernel, or before the medium            Transport
//     any other failure                                      Hard, and its cause if the errno
//                                                            names one
//
// Units:     requests.
// Ownership: none.
// Threads:   a worker, with the device locked; any thread may observe each count.
// Errors:    none.
// Source:    blkdev's and sd's use of their error kstats; the Linux block layer's errnos
//            (blk_errors[] in block/blk-core.c, Linux 6.1).
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

    /// A request has failed with `error`, an errno.
    void failed(int error);
    /// A request has succeeded, but one of its operations had to be retried.
    void recovered();
    /// A request was not accepted, which is the client's mistake.
    void refused();
};

}  // namespace blkscope
