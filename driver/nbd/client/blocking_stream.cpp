#include "driver/nbd/client/blocking_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace blkscope::nbd {
namespace {

// Whether the call may be repeated.
bool is_passing(int error) {
    return error == EAGAIN || error == EINTR;
}

}  // namespace

size_t BlockingStream::receive_plain(std::span<std::byte> to) {
    while (is_ready(connection_.socket, POLLIN, deadline_)) {
        const ssize_t bytes = ::recv(connection_.socket.get(), to.data(), to.size(), MSG_DONTWAIT);
        if (bytes == 0) errno = 0;
        if (bytes > 0) return static_cast<size_t>(bytes);
        if (bytes == 0 || !is_passing(errno)) return 0;
    }
    return 0;
}

bool BlockingStream::receive_all(std::span<std::byte> to) {
    while (!to.empty()) {
        const size_t bytes = receive_some(to);
        if (bytes == 0) return false;
        to = to.subspan(bytes);
    }
    return true;
}

bool BlockingStream::send_plain(std::span<const std::byte> bytes) {
    const int socket = connection_.socket.get();
    while (!bytes.empty()) {
        if (!is_ready(connection_.socket, POLLOUT, deadline_)) return false;
        const ssize_t sent =
            ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && !is_passing(errno)) return false;
        if (sent > 0) bytes = bytes.subspan(static_cast<size_t>(sent));
    }
    return true;
}

size_t BlockingStream::receive_some(std::span<std::byte> to) {
    TlsSession* const tls = connection_.tls.get();
    if (tls == nullptr) return receive_plain(to);
    for (;;) {
        const int32_t bytes = tls->read(to);
        const bool sent = send_ciphertext();  // the alert, too
        if (bytes > 0 && sent) return static_cast<size_t>(bytes);
        if (bytes == -EAGAIN && sent && receive_ciphertext()) continue;
        if (bytes == -EPROTO) errno = EPROTO;
        if (bytes == 0) errno = 0;
        return 0;
    }
}

bool BlockingStream::send_all(std::span<const std::byte> bytes) {
    TlsSession* const tls = connection_.tls.get();
    if (tls == nullptr) return send_plain(bytes);
    while (!bytes.empty()) {
        const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
        const int32_t taken = tls->write({&piece, 1});
        const bool sent = send_ciphertext();
        if (taken < 0) errno = EPROTO;
        if (taken < 0 || !sent) return false;
        bytes = bytes.subspan(static_cast<size_t>(taken));
    }
    return true;
}

bool BlockingStream::agree_on_tls() {
    for (;;) {
        const int result = connection_.tls->handshake();
        const bool sent = send_ciphertext();
        if (result == 0) return sent;
        if (result == -EAGAIN && sent && receive_ciphertext()) continue;
        if (result == -EPROTO) errno = EPROTO;
        return false;
    }
}

bool BlockingStream::receive_ciphertext() {
    const size_t bytes = receive_plain(connection_.tls->input());
    connection_.tls->received(bytes);
    return bytes > 0;
}

bool BlockingStream::send_ciphertext() {
    const auto bytes = connection_.tls->output();
    if (!send_plain(bytes)) return false;
    connection_.tls->sent(bytes.size());
    return true;
}

}  // namespace blkscope::nbd
