// Connect: a connection to an export of an NBD server, ready for its first request.
//
// Units:     milliseconds.
// Ownership: the caller owns the socket, which blocks.
// Threads:   any; a call blocks up to its limit.
// Errors:    std::invalid_argument for a URI, or for certificates and keys, that cannot be used.
//            std::runtime_error if the server or the export is not there, with the URI.
#pragma once

#include <chrono>

#include "driver/nbd/client/client_handshake.hpp"
#include "driver/nbd/client/remote_connection.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

/// Looks the URI's host up, connects and negotiates the export. `wishes.export_name` is the URI's.
[[nodiscard]] RemoteConnection connect_to_export(const Uri& uri, ClientWishes wishes,
                                                 std::chrono::milliseconds limit);

/// The same at a known address. No name is looked up.
[[nodiscard]] RemoteConnection connect_to_address(const Uri& uri, const ServerAddress& address,
                                                  ClientWishes wishes,
                                                  std::chrono::milliseconds limit);

}  // namespace blkscope::nbd
