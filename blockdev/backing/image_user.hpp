// Finds the user of a disk or an image file, for messages to a person.
//
// Units:     none.
// Ownership: results are the caller's.
// Threads:   any.
// Errors:    none. A user that this process may not see is not named.
// Source:    proc(5): mounts, swaps, fd, fdinfo; sysfs: block/*/holders, block/loop*/loop/backing_file.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace blkscope {

/// Where these functions look: at the machine, or at what a test made up.
struct SystemRoots {
    std::string proc = "/proc";
    std::string sys = "/sys";
    int self = ::getpid();  // this process is never the user that is named
};

/// The use of the device or of a partition, such as "mounted on /mnt", "swap space" or "held by
/// dm-0". For an open one it is "open in process 815 (fio)". Nothing for an unused device, or a use
/// that this process may not see.
std::optional<std::string> device_user(const std::string& device, const SystemRoots& roots = {});

/// The process that has locked this file, as in "locked by process 815 (qemu-nbd)". Nothing if no
/// process has, or none that this user may look into.
std::optional<std::string> file_locker(const struct stat& file, const SystemRoots& roots = {});

/// The loop device that writes to this file, as in "the file of /dev/loop0". Nothing if none does.
std::optional<std::string> loop_device(const struct stat& file, const SystemRoots& roots = {});

}  // namespace blkscope
