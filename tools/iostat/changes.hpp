// What came and what went between two looks at the devices.
#pragma once

#include <string>
#include <vector>

#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// The device in `snapshot` that is this kstat, or null.
[[nodiscard]] const Device* find(const Snapshot& snapshot, const Device& device);

/// Whether the two show the same kstats. One that was created anew between them is the same.
[[nodiscard]] bool same_devices(const Snapshot& before, const Snapshot& now);

/// What there is to tell about each device that went or came: `disk added: sd0`. Partitions that
/// come and go with their disk are named with it, and disks with their controller.
[[nodiscard]] std::vector<std::string> device_changes(const Snapshot& before, const Snapshot& now);

/// The lines that a report begins with: `<<disk added: sd0>>`.
[[nodiscard]] std::string change_lines(const std::vector<std::string>& changes);

}  // namespace blkscope::iostat
