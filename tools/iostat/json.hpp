// JSON Lines: one object per report, for programs. Units are in the keys, numbers are never
// strings, and what is not known is null. Keys may be added; none changes its meaning.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/iostat/interval.hpp"
#include "tools/iostat/summary.hpp"

namespace blkscope::iostat {

/// The line of one report: counters as they were read, and what follows from two looks at them.
/// Rates are per second and amounts bytes, whatever -I and -M say.
[[nodiscard]] std::string json_report(const Interval& interval,
                                      const std::vector<std::string>& changes, std::time_t now,
                                      const Options& options);

/// The line that ends a run with -S.
[[nodiscard]] std::string json_summary(const Summary& summary, std::time_t now);

}  // namespace blkscope::iostat
