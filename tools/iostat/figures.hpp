// The arithmetic: two looks at a device give the figures of the interval between them.
#pragma once

#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// One device over one interval. Rates are per second, with -I per interval; amounts of data are
/// KiB, with -M MiB.
struct Figures {
    double reads;
    double writes;
    double transfers;  // reads + writes
    double data_read;
    double data_written;
    double data;         // read + written
    double wait;         // mean length of the wait queue
    double actv;         // mean length of the run queue
    double wsvc_t;       // mean ms in the wait queue; 0 if nothing was completed
    double asvc_t;       // mean ms in the run queue; 0 if nothing was completed
    double svc_t;        // wsvc_t + asvc_t
    double w_percent;    // share of the time that the wait queue was not empty
    double b_percent;    // share of the time that the run queue was not empty
    double soft_errors;  // these four are totals since the device's creation
    double hard_errors;
    double transport_errors;
    double errors;     // all three
    double elapsed_s;  // the interval
    // Percentiles of the ms that reads and writes waited and were served: so many took no longer.
    // Not a number if no histogram tells, or nothing was completed.
    double wait_p50;
    double wait_p99;
    double wait_p999;
    double service_p50;
    double service_p99;
    double service_p999;
};

/// A device that stands for several has their totals, and the mean of their percentages.
///
/// The figures from `before` to `now`; from the device's creation if there is no `before`, or if it
/// was of an earlier device with the same name. Nothing is clamped.
///
/// Source: kstat_io(9S). Counts of operations are 32 bits wide and may have wrapped once.
[[nodiscard]] Figures figures(const Device* before, const Device& now, const Options& options);

}  // namespace blkscope::iostat
