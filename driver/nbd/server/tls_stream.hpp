// TlsStream: a connected socket whose bytes pass through a TlsSession. A Negotiation uses it in
// place of the plain socket.
//
//     handshake ◀─▶ socket               until both sides have agreed
//         ▼
//     async_read_some ◀─ TlsSession ◀─ socket
//     async_write     ─▶ TlsSession ─▶ socket
//
// All bytes of the socket go to the session from the first on. An attacker's plain byte after
// STARTTLS is therefore never read as an option, and fails the TLS handshake.
//
// If the session already has decrypted bytes, a read calls back before it returns.
//
// Ownership: owns the socket; borrows the session, which outlives all calls but close().
// Threads:   the control thread.
// Errors:    a TLS failure is logged and reported as EPROTO. The client gets an alert if TLS has
//            one.
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

    /// Performs the TLS handshake, then calls `done` as a write does.
    void handshake(Sent done);

    void async_read_some(std::span<std::byte> to, Received received) override;
    void async_write(std::span<const std::byte> bytes, Sent sent) override;
    void set_last_write() override { last_write_ = true; }
    void set_transmission_options() override { socket_->set_transmission_options(); }
    /// Also gives the session the peer's name for its messages.
    [[nodiscard]] Result<int> release() override;
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
