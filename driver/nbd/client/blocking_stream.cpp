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

size_t BlockingStream::receive_some(std::span<std::byte> to) {
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

bool BlockingStream::send_all(std::span<const std::byte> bytes) {
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

}  // namespace blkscope::nbd
