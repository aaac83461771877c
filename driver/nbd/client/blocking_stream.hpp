// BlockingStream: the bytes of a connection that no ring uses, in and out, each call with a deadline.
// From agree_on_tls() on they are encrypted.
//
// Units:     bytes.
// Ownership: borrows the connection, whose socket may block or not.
// Threads:   any; the calls block until the deadline.
// Errors:    false or 0, with the reason in errno. 0: the server has closed the connection. EPROTO: the
//            failure of the connection's TLS.
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

    /// Does the handshake of the connection's TLS session, which is new.
    [[nodiscard]] bool agree_on_tls();

    /// Receives some bytes, one at least.
    [[nodiscard]] size_t receive_some(std::span<std::byte> to);
    /// Receives exactly so many bytes.
    [[nodiscard]] bool receive_all(std::span<std::byte> to);
    [[nodiscard]] bool send_all(std::span<const std::byte> bytes);

  private:
    size_t receive_plain(std::span<std::byte> to);
    bool send_plain(std::span<const std::byte> bytes);
    bool receive_ciphertext();
    bool send_ciphertext();

    const RemoteConnection& connection_;
    const Deadline deadline_;
};

}  // namespace blkscope::nbd
