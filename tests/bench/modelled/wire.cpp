#include "wire.hpp"

#include <endian.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace blkscope::modelled {
namespace {

constexpr uint64_t greeting_magic = 0x4e42444d41474943;
constexpr uint64_t option_magic = 0x49484156454f5054;
constexpr uint32_t fixed_and_no_zeroes = 3;
constexpr uint32_t export_name_option = 1;
constexpr size_t export_name_reply_bytes = 10;
constexpr uint32_t request_magic = 0x25609513;
constexpr uint32_t reply_magic = 0x67446698;
constexpr size_t buffer_bytes = size_t{1} << 20;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

struct [[gnu::packed]] Request {
    uint32_t magic = htobe32(request_magic);
    uint16_t flags = 0;
    uint16_t type = 0;  // a read
    uint64_t cookie = 0;
    uint64_t offset = 0;
    uint32_t bytes = htobe32(Wire::read_bytes);
};

}  // namespace

int64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Wire::Wire(const std::string& socket_path)
    : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), received_(buffer_bytes) {
    if (socket_ < 0) fail("socket");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof address.sun_path) throw std::runtime_error("a long path");
    std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        fail(socket_path);
    }
    negotiate();
}

Wire::~Wire() {
    ::close(socket_);
}

void Wire::negotiate() {
    struct [[gnu::packed]] {
        uint64_t magic, option_magic;
        uint16_t flags;
    } greeting{};
    receive_all(&greeting, sizeof greeting);
    if (be64toh(greeting.magic) != greeting_magic) throw std::runtime_error("no NBD server");
    const struct [[gnu::packed]] {
        uint32_t flags;
        uint64_t magic;
        uint32_t option, bytes;
    } answer{htobe32(fixed_and_no_zeroes), htobe64(option_magic), htobe32(export_name_option), 0};
    send_all(&answer, sizeof answer);
    std::array<std::byte, export_name_reply_bytes> size_and_flags{};
    receive_all(size_and_flags.data(), size_and_flags.size());
}

void Wire::push(uint64_t cookie) {
    Request request;
    request.cookie = cookie;
    const auto* bytes = reinterpret_cast<const std::byte*>(&request);
    unsent_.insert(unsent_.end(), bytes, bytes + sizeof request);
}

void Wire::flush() {
    send_all(unsent_.data(), unsent_.size());
    unsent_.clear();
}

void Wire::send_all(const void* data, size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    while (bytes > 0) {
        const ssize_t sent = ::send(socket_, from, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) fail("send");
        from += sent;
        bytes -= static_cast<size_t>(sent);
    }
}

void Wire::receive_all(void* data, size_t bytes) {
    auto* to = static_cast<std::byte*>(data);
    while (bytes > 0) {
        const ssize_t got = ::recv(socket_, to, bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail("receive");
        if (got == 0) throw std::runtime_error("the server has closed the connection");
        to += got;
        bytes -= static_cast<size_t>(got);
    }
}

void Wire::receive(int64_t wait_ns) {
    if (wait_ns > 0) {
        pollfd polled{.fd = socket_, .events = POLLIN, .revents = 0};
        const timespec timeout{.tv_sec = wait_ns / 1'000'000'000,
                               .tv_nsec = wait_ns % 1'000'000'000};
        if (::ppoll(&polled, 1, &timeout, nullptr) < 0 && errno != EINTR) fail("poll");
    }
    const ssize_t got =
        ::recv(socket_, received_.data() + filled_, received_.size() - filled_, MSG_DONTWAIT);
    if (got == 0) throw std::runtime_error("the server has closed the connection");
    if (got < 0 && errno != EAGAIN && errno != EINTR) fail("receive");
    if (got > 0) filled_ += static_cast<size_t>(got);
}

uint64_t Wire::cookie_at(size_t at) const {
    struct [[gnu::packed]] {
        uint32_t magic, error;
        uint64_t cookie;
    } reply{};
    assert(at + sizeof reply <= filled_);
    std::memcpy(&reply, received_.data() + at, sizeof reply);
    if (be32toh(reply.magic) != reply_magic) throw std::runtime_error("not a simple reply");
    if (reply.error != 0) throw std::runtime_error("a read has failed");
    return reply.cookie;
}

void Wire::discard(size_t bytes) {
    assert(bytes <= filled_);
    filled_ -= bytes;
    if (bytes > 0) std::memmove(received_.data(), received_.data() + bytes, filled_);
}

}  // namespace blkscope::modelled
