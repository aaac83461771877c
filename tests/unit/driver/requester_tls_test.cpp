// A requester over TLS on a real ring. OpenSSL itself is the server, which can do what no server should.

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../temporary_folder.hpp"
#include "credentials.hpp"
#include "driver/nbd/client/requester.hpp"
#include "driver/nbd/tls/tls.hpp"
#include "sent_request.hpp"

namespace blkscope::nbd {
namespace {

constexpr hrtime_t tls_patience_ns = 60'000'000'000;

class RequesterTlsTest : public ::testing::Test, protected RequesterOwner {
  protected:
    RequesterTlsTest() : ring_(64) {
        ring_.enable();
        test::make_certificates(folder_);
    }

    void TearDown() override {
        if (!requester_) return;
        requester_->close();
        server_ = Descriptor();
        turn_until([&] { return requester_->is_closed(); });
        requester_.reset();
        SSL_free(ssl_);
        SSL_CTX_free(context_);
    }

    /// Agrees on this version, and gives the connection to the requester.
    void connect(int version, Requester::Receives receives = Requester::Receives::while_owed) {
        context_ = SSL_CTX_new(TLS_server_method());
        SSL_CTX_set_max_proto_version(context_, version);
        const auto file = [&](const char* name) { return folder_ / name; };
        EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_, file("server-cert.pem").c_str()), 1);
        EXPECT_EQ(
            SSL_CTX_use_PrivateKey_file(context_, file("server-key.pem").c_str(), SSL_FILETYPE_PEM),
            1);
        ssl_ = SSL_new(context_);
        SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_accept_state(ssl_);
        auto tls = std::make_unique<TlsSession>(
            TlsContext::open_client({.certificates = folder_, .hostname = "localhost"}));
        for (int result = -EAGAIN; result != 0;) {
            result = tls->handshake();
            ASSERT_NE(result, -EPROTO) << tls->failure();
            const auto output = tls->output();
            BIO_write(SSL_get_rbio(ssl_), output.data(), static_cast<int>(output.size()));
            tls->sent(output.size());
            SSL_do_handshake(ssl_);
            if (result == 0) break;
            const auto input = tls->input();
            const int bytes =
                BIO_read(SSL_get_wbio(ssl_), input.data(), static_cast<int>(input.size()));
            if (bytes > 0) tls->received(static_cast<size_t>(bytes));
        }
        ASSERT_TRUE(SSL_is_init_finished(ssl_));
        std::array<int, 2> ends{};
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        server_ = Descriptor(ends[1]);
        RequesterOwner& owner = *this;
        requester_.emplace(owner, ring_,
                           RemoteConnection{Descriptor(ends[0]), std::move(tls), RemoteExport{}},
                           tls_patience_ns, receives);
    }

    void answered(RemoteRequest& /*request*/) override { ++answered_; }
    void lost(std::string_view why) override { why_ = why; }

    void turn() {
        ring_.wait(false);
        ring_.dispatch();
    }
    template <class Condition>
    void turn_until(Condition condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!condition() && std::chrono::steady_clock::now() < deadline) turn();
        EXPECT_TRUE(condition());
    }

    /// Sends what the server's TLS has written, or these bytes.
    void send_written() {
        std::vector<char> bytes(static_cast<size_t>(BIO_pending(SSL_get_wbio(ssl_))));
        if (bytes.empty()) return;
        BIO_read(SSL_get_wbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
        send_plain({bytes.data(), bytes.size()});
    }
    void send_plain(std::string_view bytes) {
        EXPECT_EQ(::send(server_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    /// Decrypts so many bytes of the client.
    std::vector<std::byte> receive(size_t wanted) {
        std::vector<std::byte> bytes(wanted);
        std::array<char, 16384> part{};
        for (size_t got = 0; got < wanted;) {
            const int more = SSL_read(ssl_, bytes.data() + got, static_cast<int>(wanted - got));
            if (more > 0) got += static_cast<size_t>(more);
            turn();
            const ssize_t in = recv(server_.get(), part.data(), part.size(), MSG_DONTWAIT);
            if (in > 0) BIO_write(SSL_get_rbio(ssl_), part.data(), static_cast<int>(in));
        }
        return bytes;
    }
    /// A reply of this many bytes of data to the client's next request, as ciphertext in the BIO.
    void write_reply(size_t data) {
        const auto header = receive(request_bytes);
        const Request request = testing::sent_request(std::span(header).first<request_bytes>());
        std::vector<std::byte> bytes(simple_reply_bytes + data, std::byte{'d'});
        encode_simple_reply(std::span<std::byte>(bytes).first<simple_reply_bytes>(), Error::none,
                            request.cookie);
        EXPECT_EQ(SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())),
                  static_cast<int>(bytes.size()));
    }
    void ask() {
        read_.request = {0, Command::read, 0, 0, data_.size()};
        read_.data = data_.data();
        requester_->send(read_);
    }
    void update_keys() {
        EXPECT_EQ(SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED), 1);
        EXPECT_EQ(SSL_do_handshake(ssl_), 1);
        send_written();
    }
    /// The reason of the loss, if the server sends these bytes in place of an answer.
    std::string lost_after(std::string_view bytes) {
        connect(TLS1_3_VERSION);
        ask();
        receive(request_bytes);
        send_plain(bytes);
        shutdown(server_.get(), SHUT_WR);
        turn_until([&] { return !why_.empty(); });
        EXPECT_EQ(answered_, 0);
        TearDown();
        return std::exchange(why_, "");
    }

    const test::TemporaryFolder folder_;
    Ring ring_;
    SSL_CTX* context_ = nullptr;
    SSL* ssl_ = nullptr;
    Descriptor server_;
    std::optional<Requester> requester_;
    RemoteRequest read_;
    std::array<std::byte, 40'000> data_{};
    int answered_ = 0;
    std::string why_;
};

TEST_F(RequesterTlsTest, RequestsAndAnswersAreEncryptedInBothVersions) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        answered_ = 0;
        connect(version);
        for (int round = 1; round <= 3; ++round) {
            data_.fill({});
            ask();
            write_reply(data_.size());
            send_written();
            turn_until([&] { return answered_ == round; });
            EXPECT_EQ(data_.back(), std::byte{'d'});
        }
        EXPECT_EQ(why_, "");
        TearDown();
    }
}

// A server's tickets and new keys come at any time. A requester without requests takes them without
// an operation on its ring, so it may be destroyed.
TEST_F(RequesterTlsTest, MessagesOfTlsItselfAreNoLossOfAnIdleConnection) {
    connect(TLS1_3_VERSION);
    send_written();  // tickets
    update_keys();
    EXPECT_TRUE(requester_->is_closed());
    const auto looks = std::chrono::steady_clock::now() + std::chrono::milliseconds(1'200);
    while (std::chrono::steady_clock::now() < looks) {
        turn();
        EXPECT_TRUE(requester_->is_closed());
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(why_, "");
    ask();
    update_keys();
    write_reply(data_.size());
    send_written();
    turn_until([&] { return answered_ == 1; });
    EXPECT_EQ(why_, "");
}

TEST_F(RequesterTlsTest, AnIdleConnectionIsLostAtItsEndAndAtBytesThatNobodyAskedFor) {
    for (const int how : {0, 1, 2}) {
        connect(TLS1_3_VERSION);
        if (how == 1) SSL_write(ssl_, "x", 1);
        if (how == 2) SSL_shutdown(ssl_);
        send_written();
        if (how == 0) shutdown(server_.get(), SHUT_WR);
        turn_until([&] { return !why_.empty(); });
        TearDown();
        why_.clear();
    }
}

// The server's keys change without end, and it takes no answer. Its answers must not pile up.
TEST_F(RequesterTlsTest, AServerThatChangesItsKeysWithoutEndIsLost) {
    connect(TLS1_3_VERSION);
    ask();
    receive(request_bytes);
    for (int i = 0; i < 100'000 && why_.empty(); ++i) {
        EXPECT_EQ(SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED), 1);
        EXPECT_EQ(SSL_do_handshake(ssl_), 1);
        std::array<char, 256> bytes{};
        const int size = BIO_read(SSL_get_wbio(ssl_), bytes.data(), bytes.size());
        ::send(server_.get(), bytes.data(), static_cast<size_t>(size), MSG_NOSIGNAL);
        turn();
    }
    EXPECT_NE(why_.find("the server sends key updates and does not read the answers"),
              std::string::npos)
        << why_;
}

TEST_F(RequesterTlsTest, BytesThatAreNotOfTheServersTlsEndTheConnection) {
    EXPECT_NE(lost_after("gD\x66\x98 a reply in the clear").find("TLS: "), std::string::npos);
    EXPECT_NE(lost_after(std::string("\x17\x03\x03\x00\x40", 5) + std::string(64, 'x'))
                  .find("TLS: decryption failed"),
              std::string::npos);
    EXPECT_NE(
        lost_after(std::string("\x17\x03\x03\xff\xff", 5) + std::string(66'000, 'x')).find("TLS: "),
        std::string::npos);
    EXPECT_NE(lost_after(std::string("\x17\x03\x03\x00\x40xxx", 8)).find("cut off"),
              std::string::npos);
    EXPECT_EQ(lost_after(""), "the server has closed the connection");
}

TEST_F(RequesterTlsTest, AnAnswerThatIsCutOffInTheMiddleIsNone) {
    connect(TLS1_3_VERSION);
    ask();
    write_reply(data_.size());
    std::vector<char> bytes(30'000);
    ASSERT_EQ(BIO_read(SSL_get_wbio(ssl_), bytes.data(), 30'000), 30'000);
    send_plain({bytes.data(), bytes.size()});
    server_ = Descriptor();
    turn_until([&] { return !why_.empty(); });
    EXPECT_EQ(answered_, 0);
}

// The client answers with an alert, and does not begin a handshake.
TEST_F(RequesterTlsTest, ARequestForASecondHandshakeIsDeclined) {
    connect(TLS1_2_VERSION);
    ask();
    SSL_renegotiate(ssl_);
    SSL_do_handshake(ssl_);
    write_reply(data_.size());
    send_written();
    turn_until([&] { return answered_ == 1; });
    EXPECT_EQ(why_, "");
}

}  // namespace
}  // namespace blkscope::nbd
