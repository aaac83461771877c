#include "driver/nbd/server/listening_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "base/descriptor.hpp"
#include "base/throw_errno.hpp"
#include "driver/nbd/server/peer.hpp"

namespace blkscope::nbd {
namespace {

constexpr int socket_type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
// A server locks a folder for a moment. A longer lock is another program's, and is not waited for.
constexpr std::chrono::seconds folder_lock_max{2};
constexpr std::chrono::milliseconds folder_lock_poll{1};

struct Address {
    sockaddr_storage storage{};
    socklen_t bytes = sizeof storage;

    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// The caller has checked that `path` fits.
Address unix_address(const std::string& path) {
    Address address;
    auto& local = reinterpret_cast<sockaddr_un&>(address.storage);
    assert(path.size() < sizeof local.sun_path);
    local.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), local.sun_path);
    address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    return address;
}

Address ip_address(const IpAddress& ip, uint16_t port, uint32_t zone) {
    Address address;
    if (ip.is_v6()) {
        auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(port);
        v6.sin6_scope_id = zone;
        std::copy(ip.bytes().begin(), ip.bytes().end(), v6.sin6_addr.s6_addr);
        address.bytes = sizeof v6;
    } else {
        auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::copy(ip.bytes().begin(), ip.bytes().end(),
                  reinterpret_cast<unsigned char*>(&v4.sin_addr));
        address.bytes = sizeof v4;
    }
    return address;
}

// A link-local IPv6 address needs an interface, which may follow it: fe80::1%eth0.
uint32_t zone_of(const std::string& host) {
    const size_t percent = host.find('%');
    return percent == std::string::npos ? 0 : if_nametoindex(host.c_str() + percent + 1);
}

int socket_option(int socket, int option) {
    int value = 0;
    socklen_t bytes = sizeof value;
    return getsockopt(socket, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

// A socket in the abstract namespace, or without a name, has no file and so an empty URI.
Uri unix_uri(const Address& address) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(address.storage);
    if (address.bytes <= offsetof(sockaddr_un, sun_path)) return {};
    return {.socket_path = local.sun_path};
}

Uri tcp_uri(const Address& address) {
    const Peer self = Peer::of_address(address.storage);
    assert(self.address);
    return {.host = self.address->text(), .port = self.port};
}

// Locks the folder of `path`, if that is possible, for as long as the descriptor lasts.
Descriptor lock_folder_of(const std::string& path) {
    using Clock = std::chrono::steady_clock;
    const auto folder = std::filesystem::path(path).parent_path();
    Descriptor lock(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto deadline = Clock::now() + folder_lock_max;
    while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
           Clock::now() < deadline) {
        std::this_thread::sleep_for(folder_lock_poll);
    }
    return lock;
}

// Leaves errno alone.
bool is_no_socket(const std::string& path) {
    const int before = errno;
    struct stat info {};
    const bool is_other = lstat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode);
    errno = before;
    return is_other;
}

// The caller has locked the folder, and checked that `path` fits.
void remove_stale_socket_locked(const std::string& path) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
    const Descriptor probe(::socket(AF_UNIX, socket_type, 0));
    if (!probe.is_open()) return;
    Address address = unix_address(path);
    const bool refused = ::connect(probe.get(), address.get(), address.bytes) < 0;
    if (refused && errno == ECONNREFUSED) ::unlink(path.c_str());
}

// Another program may have removed it already. Then there is none to remove later.
SocketFile socket_file(const std::string& path) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) return {};
    return {.path = path, .device = info.st_dev, .inode = info.st_ino};
}

}  // namespace

void remove_socket_file(const SocketFile& file) {
    if (file.path.empty()) return;
    const SocketFile now = socket_file(file.path);
    if (now.device == file.device && now.inode == file.inode) ::unlink(file.path.c_str());
}

void remove_stale_socket(const std::string& path) {
    if (path.size() >= sizeof(sockaddr_un::sun_path)) return;
    const Descriptor lock = lock_folder_of(path);
    remove_stale_socket_locked(path);
}

ListeningSocket listening_unix_socket(const std::string& path) {
    const std::string what = "listen on " + path;
    if (path.size() >= sizeof(sockaddr_un::sun_path)) throw_errno(what, ENAMETOOLONG);
    const Descriptor lock = lock_folder_of(path);
    remove_stale_socket_locked(path);
    Descriptor socket(::socket(AF_UNIX, socket_type, 0));
    Address address = unix_address(path);
    if (!socket.is_open() || ::bind(socket.get(), address.get(), address.bytes) < 0 ||
        ::listen(socket.get(), SOMAXCONN) < 0) {
        if (errno == EADDRINUSE && is_no_socket(path)) errno = EEXIST;
        throw_errno(what);
    }
    return {.descriptor = socket.release(),
            .address = {.socket_path = path},
            .file = socket_file(path)};
}

ListeningSocket listening_tcp_socket(const std::string& host, uint16_t port) {
    const std::string what = fmt::format("listen on {} port {}", host, port);
    const auto ip = IpAddress::parse(host);
    if (!ip) throw std::invalid_argument(what + ": not an IP address; give one, as in 127.0.0.1");
    Address address = ip_address(*ip, port, zone_of(host));
    Descriptor socket(::socket(address.storage.ss_family, socket_type, IPPROTO_TCP));
    const int on = 1;
    if (!socket.is_open() ||
        setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        ::bind(socket.get(), address.get(), address.bytes) < 0 ||
        ::listen(socket.get(), SOMAXCONN) < 0) {
        throw_errno(what);
    }
    Address bound;
    if (getsockname(socket.get(), bound.get(), &bound.bytes) < 0) throw_errno(what);
    return {.descriptor = socket.release(),
            .address = {.host = host, .port = Peer::of_address(bound.storage).port}};
}

ListeningSocket given_listening_socket(int descriptor) {
    const std::string what = fmt::format("listen on descriptor {}", descriptor);
    Address address;
    if (getsockname(descriptor, address.get(), &address.bytes) < 0) {
        throw std::invalid_argument(what + ": not a socket");
    }
    const int family = address.storage.ss_family;
    const bool tcp = family == AF_INET || family == AF_INET6;
    if (socket_option(descriptor, SO_TYPE) != SOCK_STREAM || (!tcp && family != AF_UNIX)) {
        throw std::invalid_argument(what + ": neither a TCP nor a Unix stream socket");
    }
    if (socket_option(descriptor, SO_ACCEPTCONN) != 1) {
        throw std::invalid_argument(what +
                                    ": it does not listen; in a systemd socket unit say "
                                    "ListenStream= and Accept=no");
    }
    return {.descriptor = descriptor, .address = tcp ? tcp_uri(address) : unix_uri(address)};
}

}  // namespace blkscope::nbd
