// Connect: a connection to an export of an NBD server, ready for its first request.
//
// Units:     milliseconds.
// Ownership: the caller owns the socket, which blocks.
// Threads:   any; the call blocks up to its limit, and while a host's name is looked up.
// Errors:    std::invalid_argument for a URI that cannot be used, such as one with TLS.
//            std::runtime_error if the server or the export is not there, with the URI.
#pragma once

#include <chrono>

#include "base/descriptor.hpp"
#include "driver/nbd/client/client_handshake.hpp"
#include "driver/nbd/client/remote_export.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

struct RemoteConnection {
    Descriptor socket;
    RemoteExport remote;
};

/// Connects and negotiates the export of the URI. `wishes.export_name` is the URI's.
[[nodiscard]] RemoteConnection connect_to_export(const Uri& uri, ClientWishes wishes,
                                                 std::chrono::milliseconds limit);

}  // namespace blkscope::nbd
