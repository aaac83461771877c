// Devices that stand for several: controllers for their disks, and the paths of multipath devices.
#pragma once

#include <string_view>

#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// The controller in a disk's name: c1 of c1t0d0. Empty if the name is of another form.
[[nodiscard]] std::string_view controller_of(std::string_view name);

/// The devices with a line for each controller, followed by what hangs on it; then the others. Its
/// figures come from those of its disks that are in `devices`, partitions not counted again.
[[nodiscard]] Snapshot with_controllers(Snapshot devices);

/// Replaces the paths among the devices, named lun.target.initiator, by what is to be shown of
/// them. Paths named otherwise stay as they are.
[[nodiscard]] std::vector<Device> combine_paths(std::vector<Device> devices, Paths paths);

}  // namespace blkscope::iostat
