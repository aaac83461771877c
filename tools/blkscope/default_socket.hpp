// The Unix socket of a server that was given no address: blkscope-PID.nbd in the run directory.
//
// Threads: any.
// Errors:  none. A socket that cannot be looked at or removed stays.
#pragma once

#include <string>

namespace blkscope {

/// Where this process listens.
std::string default_socket_path();

/// Removes the sockets of servers that were killed. A running server keeps its socket, also one
/// of another pid namespace.
void remove_dead_servers_sockets();

}  // namespace blkscope
