// RawClient: a client that sends exactly the bytes of the test, right or wrong.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "driver/nbd/protocol.hpp"

namespace blkscope::test {

// A client that sends exactly the bytes of the test.
class RawClient {
  public:
    explicit RawClient(const std::string& path)
        : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        connect_to(address);
    }
    /// In transmission, with this export.
    RawClient(const std::string& path, const std::string& export_name) : RawClient(path) {
        enter_transmission(export_name);
    }
    /// On a port of the loopback.
    explicit RawClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connect_to(address);
    }
    ~RawClient() { ::close(fd_); }
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    /// Big-endian, as all numbers of the protocol.
    template <class T>
    static void append(std::string& to, T value) {
        for (int shift = static_cast<int>(sizeof(T)) * 8 - 8; shift >= 0; shift -= 8) {
            to.push_back(static_cast<char>(static_cast<uint64_t>(value) >> shift));
        }
    }
    template <class T>
    RawClient& number(T value) {
        append(bytes_, value);
        return *this;
    }
    RawClient& text(const std::string& value) {
        bytes_ += value;
        return *this;
    }
    /// False when the server has closed the connection.
    bool send() {
        const ssize_t sent = ::send(fd_, bytes_.data(), bytes_.size(), MSG_NOSIGNAL);
        const bool all = sent == static_cast<ssize_t>(bytes_.size());
        bytes_.clear();
        return all;
    }
    bool send_now(const void* data, size_t size, int flags = 0) {
        return ::send(fd_, data, size, MSG_NOSIGNAL | flags) == static_cast<ssize_t>(size);
    }

    /// Reads exactly that many bytes; fewer when the server closes or is silent.
    std::vector<unsigned char> receive(size_t bytes) {
        std::vector<unsigned char> got;
        while (got.size() < bytes && readable()) {
            unsigned char part[65536];
            const ssize_t n = ::recv(fd_, part, std::min(bytes - got.size(), sizeof part), 0);
            if (n <= 0) break;
            got.insert(got.end(), part, part + n);
        }
        return got;
    }

    /// The bytes that the socket has for us to read.
    [[nodiscard]] size_t waiting() const {
        int bytes = 0;
        return ::ioctl(fd_, FIONREAD, &bytes) == 0 ? static_cast<size_t>(bytes) : 0;
    }

    /// True if the server closes the connection, whatever it says before.
    bool closed() {
        char part[65536];
        while (readable()) {
            if (::recv(fd_, part, sizeof part, 0) <= 0) return true;
        }
        return false;
    }

    void option(uint32_t number_of, uint32_t length) {
        number(nbd::option_magic).number(number_of).number(length);
    }

    /// The whole handshake, with EXPORT_NAME.
    void enter_transmission(const std::string& export_name = "") {
        receive(nbd::greeting_bytes);
        number(uint32_t{3});
        option(1, static_cast<uint32_t>(export_name.size()));
        text(export_name);
        ASSERT_TRUE(send());
        ASSERT_EQ(receive(10).size(), 10u);
    }

    /// The whole handshake, with extended headers, base:allocation if the test asks for it, and GO
    /// to the default export.
    void enter_extended(bool allocation) {
        constexpr std::string_view context = nbd::base_allocation;
        receive(nbd::greeting_bytes);
        number(uint32_t{3});
        option(11, 0);
        if (allocation) {
            option(10, static_cast<uint32_t>(12 + context.size()));
            number(uint32_t{0}).number(uint32_t{1});
            number(static_cast<uint32_t>(context.size())).text(std::string(context));
        }
        option(7, 6);
        number(uint32_t{0}).number(uint16_t{0});
        ASSERT_TRUE(send());
        receive(20);                                             // extended headers
        if (allocation) receive(20 + 4 + context.size() + 20);   // the context and its end
        ASSERT_EQ(receive(20 + 12 + 20 + 14 + 20).size(), 86u);  // export, block sizes, end
    }

    void extended_request(nbd::Command type, uint64_t offset, uint64_t length, uint16_t flags = 0,
                          uint64_t cookie = 7) {
        number(nbd::extended_request_magic)
            .number(flags)
            .number(static_cast<uint16_t>(type))
            .number(cookie)
            .number(offset)
            .number(length);
    }

    struct ExtendedChunk {
        uint16_t flags = 0;
        nbd::Chunk type{};
        uint64_t cookie = 0;
        uint64_t offset = 0;
        std::string payload;

        /// The number at `at` of the payload.
        template <class T>
        [[nodiscard]] T at(size_t at) const {
            return load<T>(payload, at);
        }
    };

    /// The next chunk; one without flags where none comes.
    ExtendedChunk extended_chunk() {
        const auto bytes = receive(nbd::extended_reply_bytes);
        const std::string head(bytes.begin(), bytes.end());
        if (head.size() < nbd::extended_reply_bytes) return {};
        EXPECT_EQ(load<uint32_t>(head, 0), nbd::extended_reply_magic);
        ExtendedChunk chunk{load<uint16_t>(head, 4),
                            nbd::Chunk{load<uint16_t>(head, 6)},
                            load<uint64_t>(head, 8),
                            load<uint64_t>(head, 16),
                            {}};
        const auto payload = receive(load<uint64_t>(head, 24));
        chunk.payload.assign(payload.begin(), payload.end());
        return chunk;
    }

    void request(uint16_t type, uint64_t offset, uint32_t length, uint64_t cookie = 7,
                 uint16_t flags = 0) {
        number(nbd::request_magic)
            .number(flags)
            .number(type)
            .number(cookie)
            .number(offset)
            .number(length);
    }

    /// The error of the next reply, -1 if none comes. Reads no data.
    int reply_error() {
        const auto reply = receive(nbd::simple_reply_bytes);
        if (reply.size() < nbd::simple_reply_bytes) return -1;
        return reply[4] << 24 | reply[5] << 16 | reply[6] << 8 | reply[7];
    }

    /// Has the connection end with a reset, where the socket has such a thing, or at once.
    void reset_at_the_end() {
        const linger now{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }

    /// Says that nothing more will be sent; replies are still read.
    void finish_sending() { ::shutdown(fd_, SHUT_WR); }

    /// True if the server closes the connection within that time. Reads nothing.
    bool hung_up(std::chrono::milliseconds limit) {
        pollfd wait{fd_, POLLRDHUP, 0};
        return ::poll(&wait, 1, static_cast<int>(limit.count())) > 0;
    }

    template <class T>
    static T load(const std::string& from, size_t at) {
        T value = 0;
        for (size_t i = 0; i < sizeof(T); ++i) {
            value = static_cast<T>(value << 8 | static_cast<unsigned char>(from.at(at + i)));
        }
        return value;
    }

  private:
    template <class Address>
    void connect_to(const Address& address) {
        if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            ADD_FAILURE() << "connect: " << std::strerror(errno);
        }
    }

    bool readable() {
        pollfd wait{fd_, POLLIN, 0};
        return ::poll(&wait, 1, 20'000) > 0;
    }

    int fd_;
    std::string bytes_;
};

}  // namespace blkscope::test
