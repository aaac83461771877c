// TlsTransport: a TlsSession between the socket and the owner.
//
//     socket ── recv ──▶ session ── read ──▶ places ──▶ owner.received()
//     socket ◀── send ── session ◀── write ── pieces
//
// Decrypted bytes complete through the ring as received ones do. So one client's backlog does not
// overtake other clients. A send takes as many bytes as the session's output has room for. The send
// ends when the socket has all of them.
//
// TLS's own messages (new keys, an alert, the closing message) are sent when no other send is under
// way. A client's have no operation on the ring, because a requester without requests may be
// destroyed. The socket takes them at once, or they go with the next send.
//
// The rest is as in transport.hpp.
#pragma once

#include <memory>
#include <string>

#include "driver/nbd/tls/tls_session.hpp"
#include "driver/nbd/transmission/transport.hpp"

namespace blkscope::nbd {

class TlsTransport final : public Transport {
  public:
    TlsTransport(TransportOwner& owner, Ring& ring, int socket, std::unique_ptr<TlsSession> tls);

    void send(std::span<iovec> pieces, size_t bytes) override;
    void send_close() override;
    void send_last(std::span<const std::byte> bytes) override;

    [[nodiscard]] bool has_read_ahead() const override { return true; }
    [[nodiscard]] bool has_sent_all() const override;
    [[nodiscard]] bool has_input() override;
    [[nodiscard]] bool was_cut_off() const override { return cut_off_; }
    [[nodiscard]] std::string reason(int32_t result) const override;

  private:
    void receive_into_places() override { decrypt(); }
    void decrypt();
    void start_receive();
    void encrypted_received(int32_t result);
    void decrypted(int32_t result);
    void fail();
    void start_send();
    void send_own_messages();
    void encrypted_sent(int32_t result);
    void send_failed(int32_t result);

    std::unique_ptr<TlsSession> tls_;
    bool cut_off_ = false;
    size_t pieces_bytes_ = 0;  // of the pieces, in the session's output

    Operation<TlsTransport, &TlsTransport::encrypted_received> receive_operation_{*this};
    Operation<TlsTransport, &TlsTransport::decrypted> decrypt_operation_{*this};
    Operation<TlsTransport, &TlsTransport::encrypted_sent> send_operation_{*this};
    Operation<TlsTransport, &TlsTransport::send_failed> failed_operation_{*this};
};

}  // namespace blkscope::nbd
