// BlockingReader: reads from an NBD server at once, on a connection that no ring uses.
//
// Units:     bytes.
// Ownership: borrows the connection for each call.
// Threads:   any; the call blocks until the deadline.
// Errors:    ReadEnd.
// Source:    the NBD protocol document, "Transmission phase".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "driver/nbd/client/dial.hpp"
#include "driver/nbd/client/remote_connection.hpp"

namespace blkscope::nbd {

enum class ReadEnd : uint8_t {
    done,
    failed,  // the server's answer is an error
    lost,    // the connection is of no use any more
};

/// Reads all bytes of `to`, whose number is at most the server's largest request.
[[nodiscard]] ReadEnd read_blocking(const RemoteConnection& connection, uint64_t offset,
                                    std::span<std::byte> to, Deadline deadline);

}  // namespace blkscope::nbd
