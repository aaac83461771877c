// Tells the service manager the state of the server, if the manager asks for it (Type=notify).
//
// Threads: any. Errors: none; a manager that does not listen is ignored.
// Source:  sd_notify(3).
#pragma once

#include <string_view>

namespace blkscope {

/// Sends a state such as "READY=1" or "STOPPING=1".
void notify_manager(std::string_view state);

}  // namespace blkscope
