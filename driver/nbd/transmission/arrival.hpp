// Arrival: a client whose handshake is over, on its way to a worker and its session.
//
// Ownership: owns the TLS session. The receiver of the arrival closes the socket.
// Threads:   a value.
#pragma once

#include <memory>
#include <optional>

#include "blockdev/accounting/client_connection.hpp"
#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {

struct Arrival {
    Export* exp;
    Terms terms;
    int socket;                       // connected, in blocking mode
    std::unique_ptr<TlsSession> tls;  // none: the connection is not encrypted
    std::optional<ClientIdentity> who;  // none: the connection has no statistics of its own
};

}  // namespace blkscope::nbd
