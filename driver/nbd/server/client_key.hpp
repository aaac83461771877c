// ClientBy: which connections to an export are one client. identity_of(): the client of a connection.
//
//     by          Unix socket        TCP                  TLS
//     connection  each connection is a client of its own
//     peer        user and process   address              name and address
//     address     user               address              address
//     none        no connection belongs to a client
//
// No kstat shows the TLS name to other users. `blkscope clients` gets it from the control socket.
//
// Units:     none.
// Ownership: values.
// Threads:   pure functions.
// Errors:    none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "blockdev/accounting/client_connection.hpp"
#include "driver/nbd/server/peer.hpp"

namespace blkscope::nbd {

enum class ClientBy : uint8_t { connection, peer, address, none };

/// Parses "connection", "peer", "address" or "none".
[[nodiscard]] std::optional<ClientBy> client_by(std::string_view word);

/// The client of a connection; nothing for ClientBy::none. `tls_name` is the name that the client
/// has proved, or empty. `connection` is unique in this server.
[[nodiscard]] std::optional<ClientIdentity> identity_of(const Peer& peer,
                                                        const std::string& tls_name, ClientBy by,
                                                        uint64_t connection);

}  // namespace blkscope::nbd
