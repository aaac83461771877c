#include "driver/nbd/client/dial.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace blkscope::nbd {
namespace {

using DialClock = std::chrono::steady_clock;

// Waits for the event until the deadline. False if the event has not come.
bool is_ready(const Descriptor& socket, short event, Deadline deadline) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - DialClock::now());
        if (left.count() <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
        pollfd wait{socket.get(), event, 0};
        const int found = ::poll(&wait, 1, static_cast<int>(left.count()));
        if (found > 0) return true;
        if (found < 0 && errno != EINTR) return false;
    }
}

// A Unix socket whose queue of clients is full refuses at once. A TCP connection takes time.
Descriptor connect_to(int family, const sockaddr* address, socklen_t bytes, Deadline deadline) {
    Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open()) return socket;
    if (::connect(socket.get(), address, bytes) == 0) return socket;
    if (errno != EINPROGRESS || !is_ready(socket, POLLOUT, deadline)) return Descriptor();
    int error = 0;
    socklen_t error_bytes = sizeof error;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &error_bytes) < 0) {
        return Descriptor();
    }
    errno = error;
    return error == 0 ? std::move(socket) : Descriptor();
}

Descriptor connect_unix(const std::string& path, Deadline deadline) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof address.sun_path - 1));
    return connect_to(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address,
                      deadline);
}

// Each address has an equal share of the time that is left. So a silent address leaves time for the
// next one.
Descriptor connect_tcp(const Uri& uri, Deadline deadline) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(uri.host.c_str(), std::to_string(uri.port).c_str(), &hints, &found) != 0) {
        errno = EHOSTUNREACH;
        return Descriptor();
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
    int addresses_left = 0;
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) ++addresses_left;
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
        const auto now = DialClock::now();
        const auto until = now + (deadline - now) / addresses_left--;
        Descriptor socket = connect_to(one->ai_family, one->ai_addr, one->ai_addrlen, until);
        if (socket.is_open()) return socket;
    }
    return Descriptor();
}

// Whether the call may be repeated.
bool is_passing(int error) {
    return error == EAGAIN || error == EINTR;
}

}  // namespace

Descriptor dial(const Uri& uri, Deadline deadline) {
    return uri.socket_path.empty() ? connect_tcp(uri, deadline)
                                   : connect_unix(uri.socket_path, deadline);
}

size_t receive_some(const Descriptor& socket, std::span<std::byte> to, Deadline deadline) {
    while (is_ready(socket, POLLIN, deadline)) {
        const ssize_t bytes = ::recv(socket.get(), to.data(), to.size(), 0);
        if (bytes == 0) errno = 0;
        if (bytes > 0) return static_cast<size_t>(bytes);
        if (bytes == 0 || !is_passing(errno)) return 0;
    }
    return 0;
}

bool receive_all(const Descriptor& socket, std::span<std::byte> to, Deadline deadline) {
    while (!to.empty()) {
        const size_t bytes = receive_some(socket, to, deadline);
        if (bytes == 0) return false;
        to = to.subspan(bytes);
    }
    return true;
}

bool send_all(const Descriptor& socket, std::span<const std::byte> bytes, Deadline deadline) {
    while (!bytes.empty()) {
        if (!is_ready(socket, POLLOUT, deadline)) return false;
        const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && !is_passing(errno)) return false;
        if (sent > 0) bytes = bytes.subspan(static_cast<size_t>(sent));
    }
    return true;
}

}  // namespace blkscope::nbd
