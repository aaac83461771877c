// Listening sockets, made with system calls.
//
// Ownership: the caller owns the descriptor.
// Threads:   any.
// Errors:    std::system_error, or std::invalid_argument for a wrong address or descriptor.
#pragma once

#include <cstdint>
#include <string>

#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

struct ListeningSocket {
    int descriptor;
    Uri address;            // without an export's name; empty if no URI can name it
    std::string path = {};  // of a Unix socket that this program made and must remove
};

/// Removes the socket at `path` if no process listens on it: its server was killed. A server that
/// runs sees a client connect and disconnect.
void remove_stale_socket(const std::string& path);
/// A stale socket at `path` is replaced; a socket in use is not (EADDRINUSE).
ListeningSocket listening_unix_socket(const std::string& path);
/// `port` 0 means a free port.
ListeningSocket listening_tcp_socket(const std::string& address, uint16_t port);
/// Checks a listening socket that was passed to this program as a descriptor.
ListeningSocket given_listening_socket(int descriptor);

}  // namespace blkscope::nbd
