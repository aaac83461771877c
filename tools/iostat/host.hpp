// What this machine's own disks are called elsewhere: where they are mounted, and their identity.
#pragma once

#include <istream>
#include <map>
#include <string>

#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// Where block devices are mounted, by the kernel's name (sda1, dm-0); of several places the first.
///
/// Source: proc(5), /proc/[pid]/mounts; fstab(5) for how blanks are written there. Links under
/// /dev are followed.
[[nodiscard]] std::map<std::string, std::string> read_mounts(std::istream& mounts);

/// Whether a device is a block device of this machine. One that a server of ours publishes is not,
/// though the kernel may have a device of the same name.
[[nodiscard]] bool is_host_device(const Device& device);

/// The identity of a block device of this machine, as its transport has it (wwid). Empty if there
/// is none.
///
/// Source: the kernel's Documentation/ABI, sysfs-block and sysfs-bus-scsi.
[[nodiscard]] std::string host_device_id(const std::string& name);

}  // namespace blkscope::iostat
