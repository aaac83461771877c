#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "base/descriptor.hpp"
#include "driver/attach/attach.hpp"
#include "driver/attach/nbd_netlink.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope {
namespace {

// How long requests to the device wait for the server.
constexpr std::chrono::hours dead_timeout{24};
// Interval of attempts to connect to a server that is not back.
constexpr std::chrono::milliseconds retry_interval{200};
// Interval of checks for a dead connection that was not announced.
constexpr std::chrono::seconds check_interval{1};
constexpr timeval handshake_seconds_max{10, 0};

Descriptor connect_to(int family, const sockaddr* address, socklen_t bytes) {
    Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open() || ::connect(socket.get(), address, bytes) < 0) return Descriptor();
    return socket;
}

Descriptor connect_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof address.sun_path - 1));
    return connect_to(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

Descriptor connect_tcp(const nbd::Uri& uri) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(uri.host.c_str(), std::to_string(uri.port).c_str(), &hints, &found) != 0) {
        return Descriptor();
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
        Descriptor socket = connect_to(one->ai_family, one->ai_addr, one->ai_addrlen);
        if (socket.is_open()) return socket;
    }
    return Descriptor();
}

bool receive(const Descriptor& socket, std::span<std::byte> to) {
    return ::recv(socket.get(), to.data(), to.size(), MSG_WAITALL) ==
           static_cast<ssize_t>(to.size());
}

void append(std::string& to, uint64_t value, int bytes) {
    for (int shift = bytes * 8 - 8; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift);
}

// The size of the export on this connection; 0 on failure. EXPORT_NAME is enough to connect again,
// and every server has it.
uint64_t negotiate(const Descriptor& socket, const std::string& name) {
    constexpr uint64_t export_name = 1;
    constexpr uint64_t both_flags = 3;
    std::array<std::byte, nbd::greeting_bytes> greeting{};
    std::array<std::byte, 10> answer{};  // size, flags
    if (!receive(socket, greeting)) return 0;
    std::string said;
    append(said, both_flags, 4);
    append(said, nbd::option_magic, 8);
    append(said, export_name, 4);
    append(said, name.size(), 4);
    said += name;
    if (::send(socket.get(), said.data(), said.size(), MSG_NOSIGNAL) < 0) return 0;
    if (!receive(socket, answer)) return 0;
    return nbd::load_be<uint64_t>(std::span(answer).first<8>());
}

Descriptor connect_again(const nbd::Uri& uri, uint64_t size_bytes) {
    Descriptor socket = uri.socket_path.empty() ? connect_tcp(uri) : connect_unix(uri.socket_path);
    if (!socket.is_open()) return socket;
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &handshake_seconds_max,
               sizeof handshake_seconds_max);
    const uint64_t size = negotiate(socket, uri.export_name);
    if (size == 0) return Descriptor();
    if (size / 512 != size_bytes / 512) {
        throw std::runtime_error(fmt::format(
            "keep {}: the export has {} bytes now and had {}; detach it and attach it again",
            uri.text(), size, size_bytes));
    }
    constexpr timeval for_ever{};
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof for_ever);
    return socket;
}

// A detach closes the connections first, as a server does that has closed.
bool detached_soon(const std::string& device, int attached_once) {
    constexpr std::chrono::seconds limit{5};
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (attached_by(device) == attached_once) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(retry_interval);
    }
    return true;
}

}  // namespace

void keep_attached(const nbd::Uri& uri, const std::string& device) {
    const auto index = static_cast<uint32_t>(nbd_index(device));
    const int attached_once = attached_by(device);
    uint64_t size_bytes = 0;
    for (const AttachedDevice& attached : attached_devices()) {
        if (attached.device == device) size_bytes = attached.size_bytes;
    }
    NbdNetlink driver;
    driver.set_dead_timeout(index, dead_timeout);
    bool whole = true;
    while (attached_once != 0 && attached_by(device) == attached_once) {
        if (driver.wait_for_dead_connection(whole ? check_interval : retry_interval)) whole = false;
        if (whole) continue;
        const Descriptor socket = connect_again(uri, size_bytes);
        try {
            // Until it has no dead one left; the kernel holds the connection itself.
            if (socket.is_open()) whole = !driver.replace_connection(index, socket.get());
        } catch (const std::system_error&) {
            if (!detached_soon(device, attached_once)) throw;
        }
    }
}

}  // namespace blkscope
