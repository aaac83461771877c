// Devices that stand for several: a controller for its disks, or a device for its paths.
#pragma once

#include <sys/kstat.h>

#include <string_view>

#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// Adds the counters and times of one device to those of others. The stamps of `sum` stay.
void add_counters(kstat_io_t& sum, const kstat_io_t& io);

/// The controller in a disk's name: c1 of c1t0d0. Empty if the name is of another form.
[[nodiscard]] std::string_view controller_of(std::string_view name);

/// The devices, with a line for each controller in front of its devices. All others follow. A
/// controller's figures are the sums of its disks in `devices`; partitions are not counted again.
[[nodiscard]] Snapshot with_controllers(Snapshot devices);

/// Replaces the paths among the devices, named lun.target.initiator, by the devices that `paths`
/// asks for. Paths with other names stay as they are.
[[nodiscard]] std::vector<Device> combine_paths(std::vector<Device> devices, Paths paths);

}  // namespace blkscope::iostat
