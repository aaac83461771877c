// The default Unix socket of a server without an address: blkscope-PID.nbd in the run directory.
//
// Threads: any.
// Errors:  none. A socket that cannot be examined or removed stays.
#pragma once

#include <string>

namespace blkscope {

/// The default socket of this process.
std::string default_socket_path();

/// Removes the sockets of servers that were killed. A running server keeps its socket, even if the
/// server is in another pid namespace.
void remove_dead_servers_sockets();

}  // namespace blkscope
