// Connections to a server of the test, which is our server's half of the handshake in a thread.

#include "driver/nbd/client/connect.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/nbd/client/blocking_stream.hpp"
#include "driver/nbd/client/upstream_dialer.hpp"
#include "driver/nbd/handshake/handshake.hpp"

namespace blkscope::nbd {
namespace {

constexpr std::chrono::seconds limit{20};

Exports one_export() {
    return Exports({{.name = "disk",
                     .description = {},
                     .size_bytes = 1 << 20,
                     .transmission_flags = transmission_flag::has_flags,
                     .block_size = {}}});
}

class ConnectTest : public testing::Test {
  protected:
    ConnectTest() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const place = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(bind(listening_.get(), place, sizeof address), 0);
        EXPECT_EQ(listen(listening_.get(), 8), 0);
        address_.bytes = sizeof address_.address;
        EXPECT_EQ(getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address_.address),
                              &address_.bytes),
                  0);
    }
    ~ConnectTest() override { end_server(); }

    /// Serves one client up to the end of its handshake.
    void start_server() {
        server_ = std::thread([this] { serve_one(); });
    }
    void end_server() {
        ::shutdown(listening_.get(), SHUT_RDWR);
        if (server_.joinable()) server_.join();
    }

    void serve_one() {
        RemoteConnection client;
        client.socket = Descriptor(::accept(listening_.get(), nullptr, nullptr));
        if (!client.socket.is_open()) return;
        BlockingStream stream(client, std::chrono::steady_clock::now() + limit);
        const Exports exports = one_export();
        Handshake handshake(exports);
        if (!stream.send_all(Handshake::greeting())) return;
        std::vector<std::byte> bytes(4096);
        for (auto next = Step::Next::go_on; next == Step::Next::go_on;) {
            const auto place = std::span(bytes).first(std::min(bytes.size(), handshake.wanted()));
            if (!stream.receive_all(place)) return;
            const Step step = handshake.feed(place);
            if (!step.send.empty() && !stream.send_all(step.send)) return;
            next = step.next;
        }
    }

    Descriptor listening_;
    ServerAddress address_;
    std::thread server_;
};

// The worker's own look at the device must not wait for an answer about a name.
TEST_F(ConnectTest, AKnownAddressNeedsNoName) {
    start_server();
    ThreadDialer dialer(parse_uri("nbd://absent.invalid/disk"), address_);
    const DialResult result = dialer.dial_now(limit);
    ASSERT_TRUE(result.connection) << result.failure;
    EXPECT_EQ(result.connection->remote.size_bytes, 1u << 20);
}

}  // namespace
}  // namespace blkscope::nbd
