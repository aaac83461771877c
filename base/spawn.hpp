// Starts another program as the user's shell would start it. What this process changed for itself does not reach the
// program: the raised limit of descriptors, with which select(2) of the program would write beyond its sets, and
// blocked or ignored signals.
//
// posix_spawn(3) cannot set a limit, and a limit is the whole process's: lowered for a moment, other threads
// would get no descriptor. So the child sets it between vfork(2) and exec.
//
// Ownership: the caller waits for the process.
// Threads:   any. The calling thread waits until the program runs.
// Errors:    an errno of pipe2(2), vfork(2), dup2(2) or execvp(3). ENOENT: there is no such program.
// Source:    posix_spawn(3) and its implementation in glibc; select(2), "BUGS".
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.hpp"

namespace blkscope {

/// The descriptors that the program has as its standard ones: as they are here, or others of 3 and above.
struct StandardFiles {
    int input = 0;
    int output = 1;
    int errors = 2;
};

/// Finds `words[0]` in PATH.
[[nodiscard]] Result<pid_t> spawn(const std::vector<std::string>& words,
                                  const StandardFiles& files = {});

}  // namespace blkscope
