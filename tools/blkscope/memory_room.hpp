// The memory that this process can have: the machine's RAM and swap, within the limits of the
// process's control groups.
//
// Units:   bytes.
// Threads: any.
// Errors:  none. A limit that cannot be read is no limit.
// Source:  proc(5), cgroups(7); Linux Documentation/admin-guide/cgroup-v2.rst and
//          cgroup-v1/memory.rst.
#pragma once

#include <cstdint>
#include <filesystem>

namespace blkscope {

/// The most that this process can have. `root` has the folders /proc and /sys.
[[nodiscard]] uint64_t memory_room(const std::filesystem::path& root = "/");

}  // namespace blkscope
