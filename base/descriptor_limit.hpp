// The limit of a process's descriptors.
//
// Units:   a number of descriptors.
// Threads: any; raise_descriptor_limit() before there are others.
// Errors:  none. An unknown limit counts as no limit.
// Source:  getrlimit(2).
#pragma once

#include <cstdint>

namespace blkscope {

/// Raises this process's soft limit to the hard limit. The soft limit is often 1024, for programs
/// that call select(). On failure the limit stays.
void raise_descriptor_limit();

/// Gives the soft limit back that the process had before raise_descriptor_limit(): for a child
/// that becomes another program. Calls nothing that a child of vfork(2) may not.
void restore_descriptor_limit();

/// The soft limit of this process.
[[nodiscard]] uint64_t descriptor_limit();

}  // namespace blkscope
