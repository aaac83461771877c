// Further facts about this machine's own disks: their mount points and their identities.
#pragma once

#include <istream>
#include <map>
#include <string>

#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// The mount points of block devices, by the kernel's name (sda1, dm-0). Of several mount points
/// the first counts.
///
/// Source: proc(5), /proc/[pid]/mounts; fstab(5) for how blanks are written there. Links under
/// /dev are followed.
[[nodiscard]] std::map<std::string, std::string> read_mounts(std::istream& mounts);

/// Whether a device is a block device of this machine. A device that blkscope serves is not, even
/// if the kernel has a device of the same name.
[[nodiscard]] bool is_host_device(const Device& device);

/// The identity of a block device of this machine, from its transport (wwid). Empty if there is
/// none.
///
/// Source: the kernel's Documentation/ABI, sysfs-block and sysfs-bus-scsi.
[[nodiscard]] std::string host_device_id(const std::string& name);

}  // namespace blkscope::iostat
