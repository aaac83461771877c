// Listening sockets, as system calls make them.
//
// Ownership: the caller owns the descriptor.
// Threads:   any.
// Errors:    std::system_error, or std::invalid_argument for an address or a descriptor that is
//            none.
#pragma once

#include <cstdint>
#include <string>

#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

struct ListeningSocket {
    int descriptor;
    Uri address;            // without an export's name; empty where no URI can name it
    std::string path = {};  // of a Unix socket that this program made, and removes
};

/// A stale socket at `path` is replaced; one that answers is not (EADDRINUSE).
ListeningSocket listening_unix_socket(const std::string& path);
/// `port` 0 takes a free one.
ListeningSocket listening_tcp_socket(const std::string& address, uint16_t port);
/// A socket that listens already, by a descriptor that was given to this program.
ListeningSocket given_listening_socket(int descriptor);

}  // namespace blkscope::nbd
