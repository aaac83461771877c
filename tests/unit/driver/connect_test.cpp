// Connections to a server of the test, which is our server's half of the handshake in a thread.

#include "driver/nbd/client/connect.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../failure.hpp"
#include "../temporary_folder.hpp"
#include "credentials.hpp"
#include "driver/nbd/client/blocking_stream.hpp"
#include "driver/nbd/client/upstream_dialer.hpp"
#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/tls/tls.hpp"

namespace blkscope::nbd {
namespace {

constexpr std::chrono::seconds limit{20};

// Behind the consent to TLS, in the clear: an acknowledgement of the next question.
constexpr std::string_view injected("\0\x03\xe8\x89\x04\x55\x65\xa9\0\0\0\x0b\0\0\0\x01\0\0\0\0",
                                    20);

Exports the_only_export() {
    return Exports(
        {{.name = "disk",
          .description = {},
          .size_bytes = 1 << 20,
          .transmission_flags = transmission_flag::has_flags | transmission_flag::can_multi_conn,
          .block_size = {}}});
}

class ConnectTest : public ::testing::Test {
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

    void SetUp() override {
        test::make_certificates(folder_);
        test::make_key(folder_, "alice");
    }

    /// Serves one client up to the end of its handshake.
    void start_server() {
        server_ = std::thread([this] { serve_one(); });
    }
    [[nodiscard]] TlsOptions both_kinds() const {
        return {
            .mode = TlsMode::require, .certificates = folder_, .psk_file = folder_ / "keys.psk"};
    }
    [[nodiscard]] Uri uri_in_the_clear() const {
        const int port = ntohs(reinterpret_cast<const sockaddr_in&>(address_.address).sin_port);
        return parse_uri("nbd://127.0.0.1:" + std::to_string(port) + "/disk");
    }
    [[nodiscard]] std::string uri_of(const std::string& options, const std::string& user = "",
                                     const std::string& host = "localhost") const {
        return "nbds://" + user + host + "/disk?" + options;
    }
    [[nodiscard]] std::string certificates(const std::string& of = "") const {
        return "tls-certificates=" + (folder_ / of).string();
    }
    [[nodiscard]] std::string keys(const std::string& of = "") const {
        return "tls-psk-file=" + (folder_ / of / "keys.psk").string();
    }

    /// The failure of connecting to a server with these options; empty on success.
    std::string failure(const TlsOptions& server, const std::string& uri) {
        tls_context_ = TlsContext::open(server);
        start_server();
        std::string why;
        try {
            const auto connection = connect_to_address(parse_uri(uri), address_, {}, limit);
            EXPECT_EQ(connection.remote.size_bytes, 1u << 20);
            EXPECT_NE(connection.tls, nullptr);
        } catch (const std::runtime_error& error) {
            why = error.what();
        }
        server_.join();
        return why;
    }
    /// The failure of a client whose server sends these bytes in place of its part of TLS.
    std::string failure_after(std::string_view plain) {
        plain_ = plain;
        return failure(both_kinds(), uri_of(certificates()));
    }

    void end_server() {
        ::shutdown(listening_.get(), SHUT_RDWR);
        if (server_.joinable()) server_.join();
    }

    Descriptor accept_one() { return Descriptor(::accept(listening_.get(), nullptr, nullptr)); }
    void serve_one() { shake_hands(accept_one()); }
    void shake_hands(Descriptor socket) {
        RemoteConnection client;
        client.socket = std::move(socket);
        if (!client.socket.is_open()) return;
        BlockingStream stream(client, std::chrono::steady_clock::now() + limit);
        const Exports exports = the_only_export();
        Handshake handshake(exports, {}, tls_context_ ? TlsMode::require : TlsMode::off);
        if (!stream.send_all(Handshake::greeting())) return;
        std::vector<std::byte> bytes(4096);
        for (auto next = Step::Next::go_on; next == Step::Next::go_on;) {
            const auto place = std::span(bytes).first(std::min(bytes.size(), handshake.wanted()));
            if (!stream.receive_all(place)) return;
            const Step step = handshake.feed(place);
            if (!step.send.empty() && !stream.send_all(step.send)) return;
            next = step.next;
            if (next != Step::Next::start_tls) continue;
            if (!plain_.empty()) {
                EXPECT_TRUE(stream.send_all(std::as_bytes(std::span(plain_))));
                // Closing with unread bytes would be a reset.
                ::shutdown(client.socket.get(), SHUT_WR);
                while (::recv(client.socket.get(), bytes.data(), bytes.size(), 0) > 0) {
                }
                return;
            }
            client.tls = std::make_unique<TlsSession>(tls_context_);
            if (!stream.agree_on_tls()) return;
            next = Step::Next::go_on;
        }
    }

    const test::TemporaryFolder folder_;
    std::shared_ptr<const TlsContext> tls_context_;  // none: a server without TLS
    std::string plain_;                              // in place of the server's part of TLS
    Descriptor listening_;
    ServerAddress address_;
    std::thread server_;
};

// The worker's own look at the device must not wait for an answer about a name.
TEST_F(ConnectTest, AKnownAddressNeedsNoName) {
    start_server();
    ThreadDialer dialer(parse_uri("nbd://absent.invalid/disk"), address_, 1);
    const DialResult result = dialer.dial_now(limit);
    ASSERT_EQ(result.connections.size(), 1u) << result.failure;
    EXPECT_EQ(result.connections.front().remote.size_bytes, 1u << 20);
}

// A server that is slow costs two handshakes, and not one for each connection.
TEST_F(ConnectTest, AllConnectionsAfterTheFirstAreMadeAtTheSameTime) {
    server_ = std::thread([this] {
        serve_one();
        std::vector<Descriptor> waiting;
        while (waiting.size() < 3) waiting.push_back(accept_one());
        for (Descriptor& socket : waiting) shake_hands(std::move(socket));
    });
    EXPECT_EQ(connect_upstream(uri_in_the_clear(), 4, limit, Fewer::refused).size(), 4u);
}

// After a loss the requests wait, and the connections that are there would be idle.
TEST_F(ConnectTest, OneThatHangsIsNotWaitedForWhereFewerWillDo) {
    std::promise<void> connected;
    server_ = std::thread([&] {
        serve_one();
        const Descriptor hanging = accept_one();
        for (int i = 0; i < 2; ++i) serve_one();
        connected.get_future().wait();
    });
    const auto begin = std::chrono::steady_clock::now();
    const size_t made = connect_upstream(uri_in_the_clear(), 4, limit, Fewer::taken).size();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, limit);
    connected.set_value();
    EXPECT_GE(made, 1u);
    EXPECT_LE(made, 3u);
}

// Linux refuses a Unix socket's client at once if the server's queue is full.
TEST_F(ConnectTest, AFullQueueOfAUnixSocketIsWaitedFor) {
    constexpr unsigned count = 16;
    const std::filesystem::path path = folder_ / "socket";
    listening_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
    ASSERT_EQ(bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(listening_.get(), 1), 0);
    server_ = std::thread([this] {
        for (unsigned i = 0; i < count; ++i) serve_one();
    });
    const Uri uri = parse_uri("nbd+unix:///disk?socket=" + path.string());
    EXPECT_EQ(connect_upstream(uri, count, limit, Fewer::refused).size(), count);
}

// ---- TLS ----

TEST_F(ConnectTest, CertificatesAndKeysConnect) {
    EXPECT_EQ(failure(both_kinds(), uri_of(certificates())), "");
    EXPECT_EQ(failure(both_kinds(), uri_of(certificates(), "", "127.0.0.1")), "");
    EXPECT_EQ(failure(both_kinds(), uri_of(keys(), "alice@")), "");
    TlsOptions verifying = both_kinds();
    verifying.verify_peer = true;
    EXPECT_EQ(failure(verifying, uri_of(certificates())), "");
}

TEST_F(ConnectTest, AServerOfAnotherNameIsRefused) {
    const std::string other = certificates() + "&tls-hostname=example.org";
    EXPECT_NE(failure(both_kinds(), uri_of(other)).find("hostname mismatch"), std::string::npos);
    EXPECT_NE(
        failure(both_kinds(), uri_of(certificates(), "", "127.0.0.2")).find("IP address mismatch"),
        std::string::npos);
    EXPECT_EQ(
        failure(both_kinds(), uri_of(certificates() + "&tls-hostname=localhost", "", "1.2.3.4")),
        "");
}

TEST_F(ConnectTest, AServerOfAnotherAuthorityIsRefusedUnlessAnyIsAccepted) {
    test::make_certificates(folder_ / "others");
    const std::string others = certificates("others");
    const std::string why = failure(both_kinds(), uri_of(others));
    EXPECT_NE(why.find("TLS: certificate verify failed"), std::string::npos) << why;
    EXPECT_EQ(failure(both_kinds(), uri_of(others + "&tls-verify-peer=false")), "");
    EXPECT_NE(failure(both_kinds(), uri_of("")).find("certificate verify failed"),
              std::string::npos);
}

// A server that does not have the key could show any certificate.
TEST_F(ConnectTest, AServerThatDoesNotHaveTheKeyIsRefused) {
    test::make_key(folder_ / "mallory", "mallory");
    const TlsOptions certificates_only = {.mode = TlsMode::require, .certificates = folder_};
    const TlsOptions keys_only = {.mode = TlsMode::require, .psk_file = folder_ / "keys.psk"};
    const std::string unknown = "the server does not have the key of mallory";
    const std::string uri = uri_of(keys("mallory"), "mallory@");
    EXPECT_NE(failure(both_kinds(), uri).find(unknown), std::string::npos);
    EXPECT_NE(failure(certificates_only, uri).find(unknown), std::string::npos);
    EXPECT_NE(failure(keys_only, uri), "");
    std::filesystem::create_directory(folder_ / "forged");
    const std::filesystem::path forged = folder_ / "forged" / "keys.psk";
    std::ofstream(forged) << "alice:" << std::string(64, '0') << "\n";
    std::filesystem::permissions(forged, std::filesystem::perms::owner_read);
    EXPECT_NE(failure(both_kinds(), uri_of(keys("forged"), "alice@")), "");
}

TEST_F(ConnectTest, CredentialsThatCannotBeUsedAreSaidBeforeAnyServerIsAsked) {
    const auto said = [&](const std::string& uri) {
        return failure_of([&] { return connect_to_export(parse_uri(uri), {}, limit); });
    };
    EXPECT_NE(said(uri_of(certificates("absent"))).find("ca-cert.pem: No such file"),
              std::string::npos);
    EXPECT_NE(said(uri_of(keys("absent"), "alice@")).find("keys.psk: No such file"),
              std::string::npos);
    EXPECT_NE(said(uri_of(keys(), "bob@")).find("no key of 'bob'"), std::string::npos);
    EXPECT_NE(said("nbd://localhost/disk?" + certificates()).find("use nbds://"),
              std::string::npos);
    std::filesystem::remove(folder_ / "client-key.pem");
    EXPECT_NE(said(uri_of(certificates())).find("client-key.pem: No such file"), std::string::npos);
}

TEST_F(ConnectTest, ABrokenServerOfTlsIsRefused) {
    EXPECT_NE(failure_after(injected).find("TLS: "), std::string::npos);
    EXPECT_NE(failure_after(std::string("\x15\x03\x03\0\x02\x02\x28", 7)).find("alert handshake"),
              std::string::npos);
    EXPECT_NE(failure_after(std::string("\x16\x03\x03\xff\xff", 5) + std::string(70'000, 'x'))
                  .find("TLS: "),
              std::string::npos);
    EXPECT_NE(failure_after(std::string("\x16\x03\x03\0\x40xxx", 8)).find("has closed"),
              std::string::npos);
}

TEST_F(ConnectTest, AServerWithoutTlsIsRefused) {
    start_server();
    EXPECT_THROW(static_cast<void>(
                     connect_to_address(parse_uri(uri_of(certificates())), address_, {}, limit)),
                 std::runtime_error);
}

}  // namespace
}  // namespace blkscope::nbd
