#include "driver/nbd/server/tls_stream.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cerrno>
#include <utility>

#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {
namespace {

// More than any chain of certificates in use. OpenSSL limits each message only.
constexpr size_t handshake_bytes_max = size_t{64} << 10;

}  // namespace

TlsStream::TlsStream(std::unique_ptr<StreamSocket> socket, TlsSession& session, Log log)
    : socket_(std::move(socket)), session_(session), log_(std::move(log)) {
    assert(socket_ != nullptr);
    assert(log_ != nullptr);
    assert(session_.output().empty());
}

void TlsStream::handshake(Sent done) {
    assert(!agreed_);
    const int result = session_.handshake();
    if (const auto name = session_.take_unknown_key()) {
        log_(fmt::format("with an unknown key, \"{}\"", *name));
    }
    if (result == -EPROTO) return fail(std::move(done));
    assert(result == 0 || result == -EAGAIN);
    flush([this, result, done = std::move(done)](int error) {
        agreed_ = error == 0 && result == 0;
        if (error != 0 || result == 0) return done(error);
        if (bytes_received_ > handshake_bytes_max) {
            log_(fmt::format("failed: longer than {} bytes", handshake_bytes_max));
            return done(EPROTO);
        }
        receive([this, done](int32_t bytes) {
            if (bytes <= 0) return done(EPIPE);
            handshake(done);
        });
    });
}

// Sends the alert to the client before the caller is told.
void TlsStream::fail(Sent told) {
    assert(!session_.failure().empty());
    log_(fmt::format("failed: {}", session_.failure()));
    flush([told = std::move(told)](int) { told(EPROTO); });
}

void TlsStream::async_read_some(std::span<std::byte> to, Received received) {
    assert(agreed_);
    assert(!to.empty());
    const int32_t result = session_.read(to);
    if (result >= 0) return received(result);
    if (result == -EPROTO) return fail([received](int error) { received(-error); });
    assert(result == -EAGAIN);
    flush([this, to, received = std::move(received)](int error) {
        if (error != 0) return received(-error);
        receive([this, to, received](int32_t bytes) {
            if (bytes <= 0) return received(bytes);
            async_read_some(to, received);
        });
    });
}

// The session may have no room for all `bytes`, such as a very long list of exports.
void TlsStream::async_write(std::span<const std::byte> bytes, Sent sent) {
    assert(agreed_);
    assert(!bytes.empty());
    assert(!session_.closed());
    // An iovec serves both directions, so its pointer is not to constant bytes.
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const int32_t result = session_.write({&piece, 1});
    if (result < 0) return fail(std::move(sent));
    assert(static_cast<size_t>(result) <= bytes.size());
    const auto rest = bytes.subspan(static_cast<size_t>(result));
    if (rest.empty() && last_write_) session_.close();
    flush([this, rest, sent = std::move(sent)](int error) {
        if (error != 0 || rest.empty()) return sent(error);
        async_write(rest, sent);
    });
}

Result<int> TlsStream::release() {
    assert(agreed_);
    assert(session_.output().empty());
    session_.name_client(peer().text());
    return socket_->release();
}

// Receives ciphertext.
void TlsStream::receive(Received received) {
    const std::span<std::byte> to = session_.input();
    assert(!to.empty());
    socket_->async_read_some(to, [this, received = std::move(received)](int32_t result) {
        if (result > 0) {
            bytes_received_ += static_cast<size_t>(result);
            session_.received(static_cast<size_t>(result));
        }
        received(result);
    });
}

// Sends the session's output.
void TlsStream::flush(Sent sent) {
    const std::span<const std::byte> bytes = session_.output();
    if (bytes.empty()) return sent(0);
    socket_->async_write(bytes, [this, sent = std::move(sent), size = bytes.size()](int error) {
        if (error == 0) session_.sent(size);
        sent(error);
    });
}

}  // namespace blkscope::nbd
