// JSON Lines: one object per report, for programs. Units are in the keys. Numbers are never
// strings, and an unknown value is null. Keys may be added, but no key changes its meaning.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/iostat/interval.hpp"
#include "tools/iostat/summary.hpp"
#include "tools/program/json.hpp"

namespace blkscope::iostat {

/// The object of one of the interval's devices in such a line.
[[nodiscard]] program::Json json_device(const Interval& interval, const Device& device,
                                        const Options& options);

/// The line of one report: the counters as they were read, and the figures of the interval. Rates
/// are per second and amounts are bytes, even with -I and -M.
[[nodiscard]] std::string json_report(const Interval& interval,
                                      const std::vector<std::string>& changes, std::time_t now,
                                      const Options& options);

/// The line of `iostat -j` about these devices alone, with -w if `histograms`. The interval begins
/// with each device's creation if `before` is null.
[[nodiscard]] std::string json_devices(const Snapshot* before, const Snapshot& devices,
                                       std::time_t now, bool histograms);

/// The line that ends a run with -S.
[[nodiscard]] std::string json_summary(const Summary& summary, std::time_t now);

}  // namespace blkscope::iostat
