#include "tools/web/channel.hpp"

#include <sys/socket.h>

#include <cassert>
#include <cerrno>

namespace blkscope::web {
namespace {

// The socket is level-triggered: what it still has is the next turn's.
constexpr int fills_per_receive = 4;

// The result of a call of TlsSession, as that of a system call.
ssize_t as_system_call(int32_t result) {
    if (result >= 0) return result;
    errno = -result;
    return -1;
}

}  // namespace

Channel::Channel(Descriptor socket, const std::shared_ptr<const nbd::TlsContext>& tls)
    : socket_(std::move(socket)), session_(tls ? std::make_unique<nbd::TlsSession>(tls) : nullptr) {
    assert(socket_.is_open());
}

void Channel::close() {
    socket_ = Descriptor();
    session_.reset();
}

// False: -1 of the socket's send, with its errno.
bool Channel::flush() {
    while (!session_->output().empty()) {
        const auto bytes = session_->output();
        const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        session_->sent(static_cast<size_t>(count));
    }
    return true;
}

// Takes ciphertext from the socket. False: 0 or -1 of its recv; 0 is an end without TLS' own end.
bool Channel::fill() {
    const auto room = session_->input();
    assert(!room.empty());
    ssize_t count = 0;
    do {
        count = ::recv(socket_.get(), room.data(), room.size(), 0);
    } while (count < 0 && errno == EINTR);
    if (count == 0) errno = ECONNRESET;
    if (count > 0) session_->received(static_cast<size_t>(count));
    return count > 0;
}

ssize_t Channel::read_session(std::span<char> to) {
    if (!is_shaken_) {
        const int result = session_->handshake();
        if (result != 0) return as_system_call(result);
        is_shaken_ = true;
    }
    return as_system_call(session_->read(std::as_writable_bytes(to)));
}

// TLS has messages without data. A client that sends nothing else must not keep the others waiting.
ssize_t Channel::receive(std::span<char> to) {
    if (!session_) return ::recv(socket_.get(), to.data(), to.size(), 0);
    for (int fills = 0;; ++fills) {
        const ssize_t count = read_session(to);
        const int error = errno;
        // The client's next message may be the answer to these bytes. A failure is told, too.
        if (!flush() && errno != EAGAIN) return -1;
        errno = error;
        if (count >= 0 || error != EAGAIN || fills == fills_per_receive) return count;
        if (!fill()) return -1;
    }
}

ssize_t Channel::send(std::span<iovec> pieces) {
    if (!session_) {
        msghdr message{};
        message.msg_iov = pieces.data();
        message.msg_iovlen = pieces.size();
        return ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    }
    if (!flush()) return -1;
    const ssize_t count = as_system_call(session_->write(pieces));
    if (count >= 0 && !flush() && errno != EAGAIN) return -1;
    return count;
}

void Channel::end_sending() {
    if (session_) {
        session_->close();
        static_cast<void>(flush());  // the end of the socket says it as well
    }
    ::shutdown(socket_.get(), SHUT_WR);
}

}  // namespace blkscope::web
