// blkscope stats for programs.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/stats/comparison.hpp"

namespace blkscope::stats_command {

/// One JSON object on one line, it being `now`: of each device and variable the figures by the
/// t-digest and by the histogram, keys with their units, null for what is not known.
[[nodiscard]] std::string json(const std::vector<Device>& devices, std::time_t now);

}  // namespace blkscope::stats_command
