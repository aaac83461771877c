// The command line of blkscope: serve, attach, detach, list, check, stats, top, web. Also iostat, gstat, kstat
// and kstat2, which are programs of their own: see programs.hpp.
#pragma once

namespace blkscope {

/// Runs the command that the arguments name. Returns the exit status: 0, or 2 for wrong usage,
/// which is explained on standard error. `check` has statuses of its own. Throws if the command
/// fails; the exit status is then 1.
int run(int argc, char** argv);

}  // namespace blkscope
