// blkscope list: the exports of every server on this machine, and the kernel devices attached.
#pragma once

namespace blkscope {

/// Prints two tables on standard output. Throws std::system_error when kstats cannot be read.
void list();

}  // namespace blkscope
