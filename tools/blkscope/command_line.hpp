// The command line of blkscope: serve, attach, detach, list, stats, top.
#pragma once

namespace blkscope {

/// Runs the command that the arguments name. Returns the exit status: 0, or 2 for wrong usage,
/// which is explained on standard error. Throws if the command fails; the exit status is then 1.
int run(int argc, char** argv);

}  // namespace blkscope
