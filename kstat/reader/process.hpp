// The state of a provider's process.
#pragma once

#include <sys/types.h>

namespace blkscope::kstat {

/// Whether a signal has stopped the process, as Ctrl-Z does. False: it runs, is traced, is not
/// there, or /proc does not show it to this user.
///
/// Threads: any.
/// Source:  proc(5), /proc/PID/stat.
bool is_stopped(pid_t process);

}  // namespace blkscope::kstat
