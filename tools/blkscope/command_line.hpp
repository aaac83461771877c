// blkscope's command line: serve, attach, detach, list, stats, top.
#pragma once

namespace blkscope {

/// Does what the arguments say. Gives the exit status: 0, or 2 for bad usage, which it has
/// explained on standard error. Throws what went wrong while doing it; that is status 1.
int run(int argc, char** argv);

}  // namespace blkscope
