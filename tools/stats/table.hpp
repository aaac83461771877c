// blkscope stats for people.
#pragma once

#include <string>

#include "tools/stats/comparison.hpp"

namespace blkscope::stats_command {

/// A header with the device's name; a line per variable by its t-digest, and below it, where there
/// is one, a line by the histogram. Values have four digits and a unit (ns to s, powers of 1024
/// bytes), and are - where they are not known. Of a device with trouble one line that says so.
[[nodiscard]] std::string table(const Device& device);

}  // namespace blkscope::stats_command
