// The part of a Negotiation that is behind STARTTLS.
//
//     start_tls ─▶ shake_hands ◀─▶ socket          until both sides have agreed
//                      ▼
//     read_decrypted ─▶ step ─▶ write_encrypted    as in clear text, through the session
//
// From the STARTTLS on, every byte that the socket brings goes to the session, so one that someone
// slipped in behind it in clear text is never an option: it breaks the handshake.

#include <fmt/format.h>

#include <cassert>
#include <cerrno>

#include "driver/nbd/server/negotiation.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {
namespace {

// More than any chain of certificates in use; OpenSSL's own limits are for each message only.
constexpr size_t handshake_bytes_max = size_t{64} << 10;

}  // namespace

void Negotiation::start_tls() {
    tls_ = std::make_unique<TlsSession>(tls_context_);
    shake_hands();
}

void Negotiation::shake_hands() {
    const int result = tls_->handshake();
    if (const auto name = tls_->take_unknown_key()) {
        log_tls(fmt::format("with an unknown key, \"{}\"", *name));
    }
    if (result == -EPROTO) return fail_tls();
    flush([this, result] {
        if (result == 0) return read();
        if (tls_bytes_ > handshake_bytes_max) return refuse_long_handshake();
        receive_encrypted([this] { shake_hands(); });
    });
}

void Negotiation::log_tls(std::string_view what) {
    assert(!stopped());
    host_->log(fmt::format("{}: TLS handshake {}", peer().text(), what));
}

void Negotiation::refuse_long_handshake() {
    log_tls(fmt::format("failed: longer than {} bytes", handshake_bytes_max));
    end();
}

// The client is told why, as far as TLS has words for it.
void Negotiation::fail_tls() {
    log_tls(fmt::format("failed: {}", tls_->failure()));
    flush([this] { end(); });
}

void Negotiation::read_decrypted() {
    received_.resize(handshake_.wanted());
    const int32_t result = tls_->read(received_);
    if (result > 0) {
        received_.resize(static_cast<size_t>(result));
        return step();
    }
    if (result == -EPROTO) return fail_tls();
    if (result == 0) return end();
    flush([this] { receive_encrypted([this] { read_decrypted(); }); });
}

// `bytes` may be more than the session has room for: the list of very many exports.
void Negotiation::write_encrypted(std::span<const std::byte> bytes, Step::Next next) {
    // An iovec serves both directions, so its pointer is not to constant bytes.
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const int32_t result = tls_->write({&piece, 1});
    if (result < 0) return fail_tls();
    const auto rest = bytes.subspan(static_cast<size_t>(result));
    if (rest.empty() && next == Step::Next::close) tls_->close();
    flush([this, rest, next] {
        if (rest.empty()) return written(next);
        write_encrypted(rest, next);
    });
}

template <class Then>
void Negotiation::receive_encrypted(Then then) {
    socket_->async_read_some(tls_->input(), [self = shared_from_this(), then](int32_t result) {
        if (result <= 0 || self->stopped()) return self->end();
        self->tls_bytes_ += static_cast<size_t>(result);
        self->tls_->received(static_cast<size_t>(result));
        then();
    });
}

// Sends what the session has to say, then goes on.
template <class Then>
void Negotiation::flush(Then then) {
    const std::span<const std::byte> bytes = tls_->output();
    if (bytes.empty()) return then();
    socket_->async_write(bytes, [self = shared_from_this(), then, size = bytes.size()](int error) {
        if (error != 0 || self->stopped()) return self->end();
        self->tls_->sent(size);
        then();
    });
}

}  // namespace blkscope::nbd
