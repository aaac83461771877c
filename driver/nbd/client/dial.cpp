#include "driver/nbd/client/dial.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/un.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace blkscope::nbd {
namespace {

using DialClock = std::chrono::steady_clock;

ServerAddress address_of(const void* from, size_t bytes) {
    ServerAddress address;
    assert(bytes <= sizeof address.address);
    std::memcpy(&address.address, from, bytes);
    address.bytes = static_cast<socklen_t>(bytes);
    return address;
}

ServerAddress unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof address.sun_path - 1));
    return address_of(&address, sizeof address);
}

// A Unix socket whose queue of clients is full says so at once. The server makes room when it accepts.
bool connect_in_turn(const Descriptor& socket, const ServerAddress& address, Deadline deadline) {
    constexpr std::chrono::milliseconds turn{2};
    const auto* const to = reinterpret_cast<const sockaddr*>(&address.address);
    while (::connect(socket.get(), to, address.bytes) != 0) {
        if (errno != EAGAIN || DialClock::now() + turn >= deadline) return false;
        std::this_thread::sleep_for(turn);
    }
    return true;
}

// A TCP connection takes time.
Descriptor dial_one(const ServerAddress& address, Deadline deadline) {
    Descriptor socket(
        ::socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open()) return socket;
    if (connect_in_turn(socket, address, deadline)) return socket;
    if (errno != EINPROGRESS || !is_ready(socket, POLLOUT, deadline)) return Descriptor();
    int error = 0;
    socklen_t error_bytes = sizeof error;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &error_bytes) < 0) {
        return Descriptor();
    }
    errno = error;
    return error == 0 ? std::move(socket) : Descriptor();
}

}  // namespace

Result<std::vector<ServerAddress>, int> find_addresses(const Uri& uri) {
    if (!uri.socket_path.empty()) return std::vector{unix_address(uri.socket_path)};
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(uri.port);
    if (const int error = getaddrinfo(uri.host.c_str(), port.c_str(), &hints, &found); error != 0) {
        return error;
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
    std::vector<ServerAddress> addresses;
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
        addresses.push_back(address_of(one->ai_addr, one->ai_addrlen));
    }
    return addresses;
}

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

// Each address has an equal share of the time that is left. So a silent address leaves time for the
// next one.
RemoteConnection dial(std::span<const ServerAddress> addresses, Deadline deadline) {
    RemoteConnection connection;
    auto left = static_cast<int>(addresses.size());
    for (const ServerAddress& address : addresses) {
        const auto now = DialClock::now();
        connection.socket = dial_one(address, now + (deadline - now) / left--);
        connection.address = address;
        if (connection.socket.is_open()) break;
    }
    return connection;
}

}  // namespace blkscope::nbd
