// Bursts: how long a volume with credits is fast, in virtual time.
//
//     arrivals ─▶ limits ─▶ starts close together ... │ credits end │ ... starts at BASE
//
// Units:     nanoseconds of virtual time.
// Ownership: values.
// Threads:   any.
// Errors:    std::invalid_argument for limits that are none.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <string>

namespace blkscope::queueing {

struct Burst {
    hrtime_t credits_end = 0;  // the last start before a gap that is longer than those of the burst
    uint64_t exceeded_ns = 0;  // of the bucket `iops`
    uint64_t wtime = 0;        // the time in which a request waited, by the accounting
};

/// 32 reads that come back at once, until a second after the credits' end. A read takes 100 us.
Burst burst_of_clients(const std::string& limits);
/// Reads at even gaps, likewise.
Burst burst_of_arrivals(const std::string& limits, hrtime_t gap);

}  // namespace blkscope::queueing
