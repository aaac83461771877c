// The devices that were added or removed between two looks.
#pragma once

#include <string>
#include <vector>

#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// Whether both snapshots have the same devices, apart from clients, which come and go while a device
/// stays. A device that was created anew is another one.
[[nodiscard]] bool same_devices(const Snapshot& before, const Snapshot& now);

/// A text for each removed or added device, but not for clients, as in `disk added: sd0`. The text
/// of a disk also names its partitions, and the text of a controller also names its disks.
[[nodiscard]] std::vector<std::string> device_changes(const Snapshot& before, const Snapshot& now);

/// The lines at the start of a report: `<<disk added: sd0>>`.
[[nodiscard]] std::string change_lines(const std::vector<std::string>& changes);

}  // namespace blkscope::iostat
