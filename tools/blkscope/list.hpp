// blkscope list: the exports of all servers on this machine, and the kernel devices attached.
#pragma once

namespace blkscope {

/// Prints two tables on standard output. Throws std::system_error if the kstats cannot be read.
void list();

}  // namespace blkscope
