// From a live kstat_io_t to what a reader gets.
#pragma once

#include <sys/kstat.h>

namespace blkscope::kstat {

/// What a reader sees of the counters `live` at the moment `now`: a queue that is not empty is
/// charged up to `now` (an idle one keeps its last update), then all times become nanoseconds.
///
/// For providers with a ks_snapshot of their own; the default one does the same.
///
/// Units:  `live` and `now` in ticks of gethrtime_unscaled(), the result in nanoseconds.
/// Errors: none. A `now` that lies before the queue's last update, because the writer moved on
///         after the clock was read, charges nothing.
kstat_io_t io_snapshot(const kstat_io_t& live, hrtime_t now);

}  // namespace blkscope::kstat
