#include "driver/nbd/transmission/tls_transport.hpp"

#include <sys/socket.h>

#include <cassert>
#include <cerrno>
#include <utility>

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/tls/tls.hpp"

namespace blkscope::nbd {

TlsTransport::TlsTransport(TransportOwner& owner, Ring& ring, int socket,
                           std::unique_ptr<TlsSession> tls)
    : Transport(owner, ring, socket), tls_(std::move(tls)) {
    assert(tls_ != nullptr);
}

// ---- Receiving ----

// Fills the places with the bytes that can be decrypted now. If there are none, receives more.
void TlsTransport::decrypt() {
    assert(receiving_);
    int32_t result = 0;
    for (size_t i = 0; i < places_count_; ++i) {
        auto* const to = static_cast<std::byte*>(places_[i].iov_base);
        const int32_t bytes = tls_->read({to, places_[i].iov_len});
        if (bytes < 0 && result == 0) result = bytes;
        if (bytes > 0) result += bytes;
        if (bytes < static_cast<int32_t>(places_[i].iov_len)) break;
    }
    if (result == -EPROTO && planted("wrong-record-waits")) result = -EAGAIN;
    if (result == 0 && planted("goodbye-waits")) result = -EAGAIN;
    if (result == -EAGAIN && !stopped_) {
        send_own_messages();
        return start_receive();
    }
    if (result == -EAGAIN) result = 0;
    if (result < 0) fail();
    ring_.completed(decrypt_operation_, result);
}

void TlsTransport::start_receive() {
    assert(receiving_);
    const std::span<std::byte> room = tls_->input();
    assert(!room.empty());
    ring_.prepare(receive_operation_, [&](io_uring_sqe* entry) {
        io_uring_prep_recv(entry, socket_, room.data(), room.size(), 0);
    });
}

// The socket has ended without TLS's closing message: the client failed, or an attacker cut the
// stream. Some clients never send that message, so only the owner can tell whether data is missing.
void TlsTransport::encrypted_received(int32_t result) {
    assert(receiving_);
    if (stopped_) return decrypted(0);
    if (result < 0 && !is_interrupted(result)) return decrypted(result);
    if (result == 0) {
        cut_off_ = true;
        return decrypted(tls_->in_record() ? -ECONNRESET : 0);
    }
    if (result > 0) {
        bytes_moved_ += static_cast<uint32_t>(result);
        tls_->received(static_cast<size_t>(result));
    }
    decrypt();
}

void TlsTransport::decrypted(int32_t result) {
    assert(receiving_);
    receiving_ = false;
    if (tls_->failure().empty()) send_own_messages();
    owner_.received(result);
}

// Sends the peer TLS's alert, if its socket accepts it at once.
void TlsTransport::fail() {
    const std::span<const std::byte> alert = tls_->output();
    if (planted("no-alert")) return;
    if (!sending_ && !alert.empty()) ring_.kernel().send_now(socket_, alert);
}

std::string TlsTransport::reason(int32_t result) const {
    if (result == -EPROTO && !tls_->failure().empty()) return "TLS: " + tls_->failure();
    if (cut_off_ && result == -ECONNRESET) {
        return "the TLS stream was cut off in the middle of a request";
    }
    return Transport::reason(result);
}

// TLS's own messages are no input for the owner. The session takes them out of the socket.
bool TlsTransport::has_input() {
    assert(!receiving_);
    for (;;) {
        std::byte next{};
        const int32_t bytes = tls_->read({&next, 1});
        if (bytes != -EAGAIN) return true;
        send_own_messages();
        const std::span<std::byte> room = tls_->input();
        const ssize_t received = ::recv(socket_, room.data(), room.size(), MSG_DONTWAIT);
        if (received <= 0) return received == 0 || errno != EAGAIN;
        tls_->received(static_cast<size_t>(received));
    }
}

// ---- Sending ----

// Writes as many pieces as the session's output has room for.
void TlsTransport::send(std::span<iovec> pieces, [[maybe_unused]] size_t bytes) {
    assert(!sending_);
    assert(pieces_bytes_ == 0);
    assert(!pieces.empty());
    assert(bytes > 0);
    assert(!tls_->closed());
    sending_ = true;
    const int32_t taken = tls_->write({pieces.data(), pieces.size()});
    if (taken < 0) {
        sending_ = false;
        fail();
        sending_ = true;
        return ring_.completed(failed_operation_, taken);
    }
    pieces_bytes_ = static_cast<size_t>(taken);
    assert(pieces_bytes_ <= bytes);
    start_send();
}

void TlsTransport::start_send() {
    const std::span<const std::byte> bytes = tls_->output();
    assert(!bytes.empty());
    sending_ = true;
    ring_.prepare(send_operation_, [&](io_uring_sqe* entry) {
        io_uring_prep_send(entry, socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_WAITALL);
    });
}

void TlsTransport::send_own_messages() {
    const std::span<const std::byte> bytes = tls_->output();
    if (sending_ || bytes.empty()) return;
    if (!tls_->context().is_client()) return start_send();
    const ssize_t sent = ring_.kernel().send_now(socket_, bytes);
    if (sent > 0) tls_->sent(static_cast<size_t>(sent));
}

void TlsTransport::encrypted_sent(int32_t result) {
    assert(sending_);
    if (result > 0) {
        bytes_moved_ += static_cast<uint32_t>(result);
        tls_->sent(static_cast<size_t>(result));
    }
    const bool goes_on = result > 0 || is_interrupted(result);
    if (goes_on && !tls_->output().empty()) return start_send();
    sending_ = false;
    const auto taken = static_cast<int32_t>(std::exchange(pieces_bytes_, 0));
    owner_.sent(goes_on ? taken : result);
}

void TlsTransport::send_failed(int32_t result) {
    assert(sending_);
    assert(result < 0);
    assert(pieces_bytes_ == 0);
    sending_ = false;
    owner_.sent(result);
}

void TlsTransport::send_close() {
    assert(!sending_);
    assert(!receiving_);
    assert(pieces_bytes_ == 0);
    tls_->close();
    if (planted("no-goodbye")) tls_->sent(tls_->output().size());
    if (!tls_->output().empty()) start_send();
}

void TlsTransport::send_last(std::span<const std::byte> bytes) {
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    if (tls_->write({&piece, 1}) < 0) return;
    tls_->close();
    Transport::send_last(tls_->output());
}

bool TlsTransport::has_sent_all() const {
    return tls_->closed() && tls_->output().empty();
}

}  // namespace blkscope::nbd
