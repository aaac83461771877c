// The output of blkscope stats for people.
#pragma once

#include <string>

#include "tools/stats/comparison.hpp"

namespace blkscope::stats_command {

/// A header with the device's name, then the variables. A variable has a line by its t-digest, and
/// below it a line by its histogram, if there is one. Values have four digits and a unit (ns to s,
/// powers of 1024 bytes). An unknown value is "-". A device with trouble has one line that says so.
[[nodiscard]] std::string table(const Device& device);

}  // namespace blkscope::stats_command
