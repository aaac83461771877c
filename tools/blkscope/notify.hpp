// Tells the service manager how far we are, if it asked to be told (Type=notify).
//
// Threads: any. Errors: none; a manager that does not listen is its own concern.
// Source:  sd_notify(3).
#pragma once

#include <string_view>

namespace blkscope {

/// As in "READY=1" or "STOPPING=1".
void notify_manager(std::string_view state);

}  // namespace blkscope
