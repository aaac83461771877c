// Listening sockets, made with system calls.
//
// A Unix socket refuses clients between bind(2) and listen(2), as a killed server's does. So a
// server locks the folder from its look at the path until it listens there. The lock is a flock(2),
// which leaves no file behind. A folder that cannot be read or locked is used without it.
//
// Ownership: the caller owns the descriptor.
// Threads:   any.
// Errors:    std::system_error, or std::invalid_argument for a wrong address or descriptor.
// Source:    unix(7), flock(2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

/// The file of a Unix socket that this program made.
struct SocketFile {
    std::string path = {};  // empty for none
    dev_t device = 0;
    ino_t inode = 0;
};

struct ListeningSocket {
    int descriptor;
    Uri address;           // without an export's name; empty if no URI can name it
    SocketFile file = {};  // to be removed
};

/// Removes the file, unless its path now has another one. Call while the socket is open: until then
/// no other file has its inode number.
void remove_socket_file(const SocketFile& file);

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
