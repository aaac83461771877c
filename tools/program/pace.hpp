// The pace of a tool that reports at intervals: how many reports there are, and when each is due.
#pragma once

#include <sys/kstat.h>

#include <functional>
#include <optional>

#include "tools/program/cadence.hpp"

namespace blkscope::program {

constexpr hrtime_t ns_per_s = 1'000'000'000;

class Pace {
  public:
    /// Begins now. No count: reports without end.
    Pace(hrtime_t interval_ns, std::optional<int> count)
        : cadence_(gethrtime(), interval_ns, !count), count_(count) {}

    /// The pace of an interval and a count as users give them: without an interval there is one
    /// report.
    static Pace of(std::optional<int> interval_s, std::optional<int> count) {
        return {interval_s.value_or(0) * ns_per_s, interval_s ? count : 1};
    }

    /// Whether the report that is made now is the last one.
    [[nodiscard]] bool at_last() const { return count_ && made_ + 1 >= *count_; }

    /// Sleeps until the next report is due, and calls `continued` whenever the process goes on after
    /// a stop. False: it was the last report, or a signal came that ends the run.
    bool wait(const std::function<void()>& continued = [] {});

  private:
    Cadence cadence_;
    std::optional<int> count_;
    int made_ = 0;
    bool continued_ = false;  // ever, after a stop
};

}  // namespace blkscope::program
