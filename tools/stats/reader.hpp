// Where the statistics come from: the blobs through libkstat, the histograms through libkstat2.
#pragma once

#include <string>
#include <vector>

#include "tools/stats/comparison.hpp"

namespace blkscope::stats_command {

/// The devices with these names, or all, in the order of their names, as they are now.
///
/// Errors: throws std::system_error or std::runtime_error if there is nothing to be read from. One
///         device that cannot be read says so in its `trouble`, and one that has gone is not there.
[[nodiscard]] std::vector<Device> read_devices(const std::vector<std::string>& names);

}  // namespace blkscope::stats_command
