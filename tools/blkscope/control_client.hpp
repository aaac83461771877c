// The command's side of a control socket: finds the server of a device, and asks it.
//
// Threads: any.
// Errors:  std::runtime_error or std::system_error; std::invalid_argument if the server calls the
//          request bad input.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>

#include "base/descriptor.hpp"
#include "tools/blkscope/control_request.hpp"
#include "tools/blkscope/strict_json.hpp"

namespace blkscope {

/// A connection to the server of a device, for several requests. The server closes a connection that
/// rests for long; the next request then makes another one to the same process.
class ServerConnection {
  public:
    explicit ServerConnection(const std::string& device);

    /// The server's answer. The server has done what was asked. The request's device may be named as
    /// "nbd0@PID". If several servers have a device of that name, it must be.
    StrictJson ask(const ControlRequest& request);

  private:
    pid_t pid_;
    Descriptor socket_;
};

/// The device that a user has named; without a name, the only one that is served.
///
/// Errors: without a name, std::runtime_error if nothing is served, and std::invalid_argument if there
///         are several devices. `command` begins the message.
std::string device_or_only_one(const std::string& name, const std::string& command);

/// The answer to a single request.
StrictJson ask_server(const ControlRequest& request);

/// Asks all servers that have an export with a crash cache, at nearly the same moment. Calls
/// take() with each answer. If a server fails, the answers of the others are taken first.
/// Returns the number of servers.
size_t ask_servers_with_crash_cache(const ControlRequest& request,
                                    const std::function<void(const StrictJson&)>& take);

}  // namespace blkscope
