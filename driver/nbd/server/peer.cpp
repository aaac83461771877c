#include "driver/nbd/server/peer.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <fstream>

namespace blkscope::nbd {
namespace {

constexpr std::array<unsigned char, 12> v4_mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// A provider usually gives a customer a whole network with this prefix.
constexpr size_t v6_network_bytes = 8;

std::span<const unsigned char> without_v6_wrap(std::span<const unsigned char> bytes) {
    const bool wrapped =
        bytes.size() == IpAddress::v6_bytes &&
        std::equal(v4_mapped_prefix.begin(), v4_mapped_prefix.end(), bytes.begin());
    return wrapped ? bytes.last(IpAddress::v4_bytes) : bytes;
}

std::span<const unsigned char> network_of(const IpAddress& address) {
    return address.is_v6() ? address.bytes().first(v6_network_bytes) : address.bytes();
}

// The process may have ended, or may be invisible here.
std::string program_of(pid_t pid) {
    std::ifstream comm(fmt::format("/proc/{}/comm", pid));
    std::string program;
    std::getline(comm, program);
    return program;
}

}  // namespace

IpAddress::IpAddress(std::span<const unsigned char> bytes) {
    assert(bytes.size() == v4_bytes || bytes.size() == v6_bytes);
    const auto plain = without_v6_wrap(bytes);
    bytes_.assign(plain.begin(), plain.end());
    assert(bytes_.size() == v4_bytes || bytes_.size() == v6_bytes);
}

std::optional<IpAddress> IpAddress::parse(const std::string& text) {
    std::array<unsigned char, v6_bytes> bytes{};
    if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
        return IpAddress(std::span(bytes).first<v4_bytes>());
    }
    const std::string without_zone = text.substr(0, text.find('%'));
    if (inet_pton(AF_INET6, without_zone.c_str(), bytes.data()) == 1) return IpAddress(bytes);
    return std::nullopt;
}

std::string IpAddress::text() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const char* const said = inet_ntop(is_v6() ? AF_INET6 : AF_INET, bytes_.data(), text.data(),
                                       static_cast<socklen_t>(text.size()));
    assert(said != nullptr);
    return said;
}

Peer Peer::of_address(const sockaddr_storage& from) {
    Peer peer;
    if (from.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
        const auto* bytes = reinterpret_cast<const unsigned char*>(&v4.sin_addr);
        peer.kind = Kind::address;
        peer.address = IpAddress({bytes, IpAddress::v4_bytes});
        peer.port = ntohs(v4.sin_port);
    } else if (from.ss_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
        peer.kind = Kind::address;
        peer.address = IpAddress({v6.sin6_addr.s6_addr, IpAddress::v6_bytes});
        peer.port = ntohs(v6.sin6_port);
    }
    assert((peer.kind == Kind::address) == peer.address.has_value());
    return peer;
}

Peer Peer::of(int socket) {
    sockaddr_storage from{};
    socklen_t bytes = sizeof from;
    if (getpeername(socket, reinterpret_cast<sockaddr*>(&from), &bytes) < 0) return {};
    if (from.ss_family != AF_UNIX) return of_address(from);
    ucred who{};
    bytes = sizeof who;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &bytes) < 0) return {};
    return {.kind = Kind::process, .pid = who.pid, .uid = who.uid, .program = program_of(who.pid)};
}

std::string Peer::text() const {
    switch (kind) {
        case Kind::unknown:
            return "a client";
        case Kind::process:
            // Pid 0: the process is not visible in this process's pid namespace.
            if (pid == 0) return fmt::format("a process of user {}", uid);
            return fmt::format("process {} of user {}", pid, uid);
        case Kind::address:
            assert(address);
            return fmt::format("{} port {}", address->text(), port);
    }
    return {};
}

Peer::Key Peer::client_key() const {
    assert((kind == Kind::address) == address.has_value());
    if (!address) return {kind, {}, uid, pid};
    const auto bytes = address->bytes();
    return {kind, {bytes.begin(), bytes.end()}, 0, 0};
}

Peer::Key Peer::owner_key() const {
    assert((kind == Kind::address) == address.has_value());
    if (!address) return {kind, {}, uid, 0};
    const auto network = network_of(*address);
    return {kind, {network.begin(), network.end()}, 0, 0};
}

}  // namespace blkscope::nbd
