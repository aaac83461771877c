// Detached thread: work that cannot be stopped, such as looking a name up, and that ends by itself.
//
// exit() runs destructors and handlers of libraries, which such a thread may still need. A program that
// starts one must end with end_process().
//
// Units:     none.
// Ownership: a thread owns its work, and all that the work has.
// Threads:   any.
// Errors:    std::system_error if there can be no thread.
#pragma once

#include <functional>

namespace blkscope {

/// Runs the work in a thread of its own. The work throws nothing.
void run_detached(std::function<void()> work);

/// Returns the status for main() to return. If a detached thread is at work, ends the process at once,
/// without destructors of static objects. All output is written before.
int end_process(int status);

}  // namespace blkscope
