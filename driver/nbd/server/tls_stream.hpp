// TlsStream: a connected socket whose bytes go through a TlsSession. A Negotiation uses it like the
// plain socket that it covers.
//
//     handshake ◀─▶ socket               until both sides have agreed
//         ▼
//     async_read_some ◀─ TlsSession ◀─ socket
//     async_write     ─▶ TlsSession ─▶ socket
//
// From its first byte on, all that the socket brings goes to the session. A byte that somebody
// slipped in behind the STARTTLS in clear text is never an option: it breaks the handshake.
//
// A read calls back before it returns where the session has bytes already.
//
// Ownership: owns the socket; borrows the session, which outlives all calls but close().
// Threads:   the control thread.
// Errors:    a failure of TLS is logged, told to the client as far as TLS has words for it, and then
//            reported as EPROTO.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "driver/nbd/server/executor.hpp"

namespace blkscope::nbd {

class TlsSession;

class TlsStream final : public StreamSocket {
  public:
    using Log = std::function<void(std::string_view what)>;

    TlsStream(std::unique_ptr<StreamSocket> socket, TlsSession& session, Log log);

    /// Agrees with the client; `done` as that of a write.
    void handshake(Sent done);

    void async_read_some(std::span<std::byte> to, Received received) override;
    void async_write(std::span<const std::byte> bytes, Sent sent) override;
    void set_last_write() override { last_write_ = true; }
    void set_transmission_options() override { socket_->set_transmission_options(); }
    /// From here on the session calls the client by its peer's name.
    [[nodiscard]] int release() override;
    void close() override { socket_->close(); }
    [[nodiscard]] const Peer& peer() const override { return socket_->peer(); }

  private:
    void fail(Sent told);
    void receive(Received received);
    void flush(Sent sent);

    std::unique_ptr<StreamSocket> socket_;
    TlsSession& session_;
    Log log_;
    size_t bytes_received_ = 0;  // of ciphertext
    bool agreed_ = false;
    bool last_write_ = false;
};

}  // namespace blkscope::nbd
