// The pace of a tool that reports at intervals: the number of reports, and the time of each.
#pragma once

#include <sys/kstat.h>

#include <functional>
#include <optional>

#include "base/clock.hpp"
#include "tools/program/cadence.hpp"

namespace blkscope::program {

class Pace {
  public:
    /// The pace begins now. Without `count` there is no last report.
    Pace(hrtime_t interval_ns, std::optional<int> count)
        : cadence_(gethrtime(), interval_ns, !count), count_(count) {}

    /// The pace of an interval and a count that a user gives. Without an interval there is one
    /// report.
    static Pace of(std::optional<int> interval_s, std::optional<int> count) {
        return {interval_s.value_or(0) * ns_per_s, interval_s ? count : 1};
    }

    /// Whether the report in progress is the last one.
    [[nodiscard]] bool at_last() const { return count_ && made_ + 1 >= *count_; }

    /// Sleeps until the next report is due. Calls `continued` whenever the process continues after
    /// a stop. False if the report was the last one, or after a signal that ends the run.
    bool wait(const std::function<void()>& continued = [] {});

  private:
    Cadence cadence_;
    std::optional<int> count_;
    int made_ = 0;
    bool continued_ = false;  // at any time, after a stop
};

}  // namespace blkscope::program
