// The figures of a device over an interval, computed from two looks at it.
#pragma once

#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// One device over one interval. Rates are per second, or per interval with -I. Amounts of data are
/// KiB, or MiB with -M.
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
    double errors;     // the sum of the three
    double elapsed_s;  // the length of the interval
    // Percentiles of the wait and service times of reads and writes in ms: upper bounds. Not a
    // number if there is no histogram, or if nothing was completed.
    double wait_p50;
    double wait_p99;
    double wait_p999;
    double service_p50;
    double service_p99;
    double service_p999;
};

/// The figures from `before` to `now`. Without `before` they begin with the device's creation, and
/// also if `before` was an earlier device with the same name. Nothing is clamped.
///
/// A device that stands for several has the totals of these, and the mean of their percentages.
///
/// Source: kstat_io(9S). Counts of operations are 32 bits wide and may have wrapped once.
[[nodiscard]] Figures figures(const Device* before, const Device& now, const Options& options);

}  // namespace blkscope::iostat
