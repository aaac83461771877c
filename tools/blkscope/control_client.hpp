// The command's side of a control socket: finds the server of a device, and asks it once.
//
// Threads: any.
// Errors:  std::runtime_error or std::system_error; std::invalid_argument if the server calls the
//          request bad input.
#pragma once

#include <vector>

#include "tools/blkscope/control_request.hpp"
#include "tools/blkscope/strict_json.hpp"

namespace blkscope {

/// The server's answer. The server has done what was asked.
StrictJson ask_server(const ControlRequest& request);

/// The answers of all servers that have an export with a crash cache. These servers get the request
/// at nearly the same moment.
std::vector<StrictJson> ask_servers_with_crash_cache(const ControlRequest& request);

}  // namespace blkscope
