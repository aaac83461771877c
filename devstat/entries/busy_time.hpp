// A reader's addition to an entry's busy time.
#pragma once

#include <sys/devicestat.h>
#include <sys/kstat.h>

#include "devstat/entries/bintime.hpp"

namespace blkscope::devstat {

/// If a transaction is in flight, adds the time since the last transaction ended to the busy time.
/// A transaction longer than an interval thus makes the device busy in each interval, not only in
/// the last.
///
/// Units: nanoseconds of CLOCK_MONOTONIC.
inline void charge_busy_time(struct ::devstat& entry, hrtime_t now) {
    const hrtime_t from = ns_of(entry.busy_from);
    if (entry.start_count == entry.end_count || now <= from) return;
    entry.busy_time = sum(entry.busy_time, bintime_of(now - from));
    entry.busy_from = bintime_of(now);
}

}  // namespace blkscope::devstat
