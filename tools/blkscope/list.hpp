// blkscope list: the exports of all servers on this machine, and the kernel devices attached.
#pragma once

namespace blkscope {

/// Prints two tables on standard output. With `verbose`, lines about the depth, the model, the limits
/// and the faults follow each export. Throws std::system_error if the kstats cannot be read.
void list(bool verbose);

}  // namespace blkscope
