// RemoteConnection: a connection to an export of another server, whose handshake is done.
//
// Units:     none.
// Ownership: owns the socket, which blocks.
// Threads:   any, one at a time.
// Errors:    none.
#pragma once

#include <sys/socket.h>

#include "base/descriptor.hpp"
#include "driver/nbd/client/remote_export.hpp"

namespace blkscope::nbd {

/// Where a server listens.
struct ServerAddress {
    sockaddr_storage address{};
    socklen_t bytes = 0;
};

struct RemoteConnection {
    Descriptor socket;
    RemoteExport remote;
    ServerAddress address = {};
};

}  // namespace blkscope::nbd
