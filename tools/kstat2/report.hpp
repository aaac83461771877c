// A report: what was read, written down.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/kstat2/options.hpp"
#include "tools/kstat2/statistic.hpp"

namespace blkscope::kstat2_command {

/// The report on `readings`, it being `now`; empty with -q.
///
/// With -T there is a line in front, but in JSON a member "time" in every object, so that the
/// report is JSON as a whole.
[[nodiscard]] std::string report(const Options& options, const std::vector<Reading>& readings,
                                 std::time_t now);

}  // namespace blkscope::kstat2_command
