// Writes a report of the kstats that were read.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/kstat2/options.hpp"
#include "tools/kstat2/statistic.hpp"

namespace blkscope::kstat2_command {

/// The report on `readings` at the time `now`; empty with -q.
///
/// With -T a line comes first. In JSON every object has a member "time" instead, so that the whole
/// report is JSON.
[[nodiscard]] std::string report(const Options& options, const std::vector<Reading>& readings,
                                 std::time_t now);

}  // namespace blkscope::kstat2_command
