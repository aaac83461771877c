// Partitions of an attached disk. The kernel reads the partition table when the disk is opened first, and until then
// neither shows nor forgets a partition. So the disk is opened once after each attach and detach.
//
//     nbd-client ─▶ connected, no partition ─▶ open: the table is read ─▶ /sys/block/nbd0/nbd0p1 ─▶ /dev/nbd0p1
//
// Threads:   any; calls block up to their limits.
// Errors:    scan_partitions() throws std::system_error if no process can be made.
// Source:    Linux 6.1 block/bdev.c, blkdev_get_whole(); drivers/block/nbd.c, GD_NEED_PART_SCAN.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace blkscope {

/// Opens the disk, so that the kernel reads its partition table. Empty if it has; else the reason in words. A server
/// that answers late delays no caller beyond the limit: another process opens the disk.
[[nodiscard]] std::string scan_partitions(const std::string& device,
                                          std::chrono::milliseconds limit);

/// The names of a disk's partitions, as nbd0p1, from the disk's folder in /sys/block.
[[nodiscard]] std::vector<std::string> partitions(const std::string& sysfs_folder);

}  // namespace blkscope
