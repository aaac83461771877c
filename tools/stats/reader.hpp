// Reads the blobs through libkstat, and the histograms through libkstat2.
#pragma once

#include <string>
#include <vector>

#include "tools/stats/comparison.hpp"

namespace blkscope::stats_command {

/// The devices with these names, or all devices, in the order of their names, at present.
///
/// Errors: throws std::system_error or std::runtime_error if there is no provider to read. For a
///         device that cannot be read, `trouble` says why. A device that was removed is not there.
[[nodiscard]] std::vector<Device> read_devices(const std::vector<std::string>& names);

}  // namespace blkscope::stats_command
