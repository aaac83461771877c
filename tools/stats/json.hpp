// The output of blkscope stats for programs.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/stats/comparison.hpp"

namespace blkscope::stats_command {

/// One JSON object on one line, with the time `now`. Each variable of each device has figures by
/// the t-digest and by the histogram. Keys have units, and an unknown figure is null.
[[nodiscard]] std::string json(const std::vector<Device>& devices, std::time_t now);

}  // namespace blkscope::stats_command
