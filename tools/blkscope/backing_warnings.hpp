// Warnings about backings that are served, and are probably not what the user meant.
//
// Threads: any.
// Errors:  std::invalid_argument for a backing that cannot be served.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/blkscope/config.hpp"

namespace blkscope {

/// A line for each image of another format than raw bytes. One more line if all `memory:` backings
/// together are larger than `memory_room_bytes`.
[[nodiscard]] std::vector<std::string> backing_warnings(const std::vector<ExportConfig>& exports,
                                                        uint64_t memory_room_bytes);

/// The line for an export that Linux cannot show whole, such as one of 1000 bytes; empty for all others.
[[nodiscard]] std::string sector_warning(uint64_t size_bytes);

}  // namespace blkscope
