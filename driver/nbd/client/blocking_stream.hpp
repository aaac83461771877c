// BlockingStream: the bytes of a connection that no ring uses, in and out, each call with a deadline.
//
// Units:     bytes.
// Ownership: borrows the connection, whose socket may block or not.
// Threads:   any; the calls block until the deadline.
// Errors:    false or 0, with the reason in errno. 0 in errno: the server has closed the connection.
// Source:    recv(2), send(2).
#pragma once

#include <cstddef>
#include <span>

#include "driver/nbd/client/dial.hpp"
#include "driver/nbd/client/remote_connection.hpp"

namespace blkscope::nbd {

class BlockingStream {
  public:
    BlockingStream(const RemoteConnection& connection, Deadline deadline)
        : connection_(connection), deadline_(deadline) {}

    /// Receives some bytes, one at least.
    [[nodiscard]] size_t receive_some(std::span<std::byte> to);
    /// Receives exactly so many bytes.
    [[nodiscard]] bool receive_all(std::span<std::byte> to);
    [[nodiscard]] bool send_all(std::span<const std::byte> bytes);

  private:
    const RemoteConnection& connection_;
    const Deadline deadline_;
};

}  // namespace blkscope::nbd
