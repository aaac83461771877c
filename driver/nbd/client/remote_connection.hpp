// RemoteConnection: a connection to an export of another server, whose handshake is done.
//
// Units:     bytes.
// Ownership: owns the socket, which blocks, and its TLS.
// Threads:   any, one at a time.
// Errors:    none.
#pragma once

#include <sys/socket.h>

#include <memory>

#include "base/descriptor.hpp"
#include "driver/nbd/client/remote_export.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {

/// Where a server listens.
struct ServerAddress {
    sockaddr_storage address{};
    socklen_t bytes = 0;
};

struct RemoteConnection {
    Descriptor socket;
    std::unique_ptr<TlsSession> tls = nullptr;  // none: the connection is not encrypted
    RemoteExport remote;
    ServerAddress address = {};
};

}  // namespace blkscope::nbd
