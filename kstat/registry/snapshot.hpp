// The conversion of a live kstat_io_t to a reader's copy.
#pragma once

#include <sys/kstat.h>

namespace blkscope::kstat {

/// A reader's copy of the counters `live` at the moment `now`. A queue that is not empty is charged
/// up to `now`; an idle one keeps its last update. All times become nanoseconds.
///
/// For providers with a ks_snapshot of their own; the default one does the same.
///
/// Units:  `live` and `now` in ticks of gethrtime_unscaled(), the result in nanoseconds.
/// Errors: none. If the queue's last update is later than `now`, nothing is charged. The writer
///         then made a change after the clock was read.
kstat_io_t io_snapshot(const kstat_io_t& live, hrtime_t now);

}  // namespace blkscope::kstat
