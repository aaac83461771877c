// When the next report is due.
//
//     start      wake 1     wake 2     wake 3      every wake is one interval after the last,
//       |----------|----------|----------|         however long the reports took
//
// A report may take so long that less than a quarter of the interval is left. With a count the next
// report then comes half an interval later, and the schedule stays the same. Without a count, the
// schedule starts anew. After the process was stopped and continued, the schedule starts anew too.
#pragma once

#include <sys/kstat.h>

namespace blkscope::program {

class Cadence {
  public:
    /// Units: nanoseconds of CLOCK_MONOTONIC; `start` is a moment before the first snapshot.
    Cadence(hrtime_t start, hrtime_t interval, bool for_ever)
        : wake_(start), interval_(interval), may_restart_(for_ever) {}

    /// The time of the next report, at the time `now`; `continued` if a SIGCONT has come.
    [[nodiscard]] hrtime_t next_wake(hrtime_t now, bool continued);

  private:
    hrtime_t wake_;  // as scheduled, the last one
    hrtime_t interval_;
    bool may_restart_;
};

}  // namespace blkscope::program
