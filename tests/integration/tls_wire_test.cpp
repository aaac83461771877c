// TLS on the wire, by a client that sends exactly the bytes of the test. The tests show attacks on
// the connection, and clients that are broken or hostile.

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "tls_client.hpp"
#include "tls_served_device.hpp"
#include "unit/driver/handshake_client.hpp"

namespace blkscope::test {
namespace {

using nbd::testing::fixed;
using nbd::testing::option;
using nbd::testing::question;
using nbd::testing::reply;
using nbd::testing::u16;
using nbd::testing::u32;
using nbd::testing::u64;
using Status = TlsClient::Status;

constexpr uint32_t ack = 1;
constexpr uint32_t err_invalid = 0x80000003;
constexpr char alert_record = 0x15;

const std::string starttls = option(5);

std::string request(nbd::Command type, uint64_t offset, uint32_t length, uint64_t cookie = 7) {
    return u32(nbd::request_magic) + u16(0) + u16(static_cast<uint16_t>(type)) + u64(cookie) +
           u64(offset) + u32(length);
}

std::string good_reply(uint64_t cookie = 7) {
    return u32(nbd::simple_reply_magic) + u32(0) + u64(cookie);
}

/// A socket to the server and, once asked for, TLS on it.
class WireClient {
  public:
    explicit WireClient(const std::string& path, const TlsClientOptions& options = {})
        : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), tls_(options) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
            ADD_FAILURE() << "connect: " << std::strerror(errno);
        }
    }
    ~WireClient() { ::close(fd_); }
    WireClient(const WireClient&) = delete;
    WireClient& operator=(const WireClient&) = delete;

    TlsClient& tls() { return tls_; }

    // ---- In clear text ----

    /// False when the server has closed the connection.
    bool send(const std::string& bytes) {
        for (size_t sent = 0; sent < bytes.size();) {
            const ssize_t part =
                ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
            if (part <= 0) return false;
            sent += static_cast<size_t>(part);
        }
        return true;
    }

    /// That many bytes; fewer when the server closes or is silent.
    std::string receive(size_t bytes) {
        std::string got;
        while (got.size() < bytes) {
            const std::string part = receive_some(bytes - got.size());
            if (part.empty()) break;
            got += part;
        }
        return got;
    }

    /// All that the server sends until it closes; the test fails if the server does not close.
    std::string receive_to_the_end() {
        std::string got;
        while (readable()) {
            const std::string part = receive_some(65536);
            if (part.empty()) return got;
            got += part;
        }
        ADD_FAILURE() << "the server does not close";
        return got;
    }

    // ---- Through TLS ----

    /// Flags and STARTTLS, to the end of TLS's handshake.
    Status start_tls() {
        receive(nbd::greeting_bytes);
        send(fixed + starttls);
        EXPECT_EQ(receive(nbd::option_reply_header_bytes), reply(5, ack));
        return shake_hands();
    }

    Status shake_hands() {
        for (;;) {
            const Status status = tls_.handshake();
            send(tls_.take());
            if (status != Status::wants_more) return status;
            const std::string bytes = receive_some(65536);
            if (bytes.empty()) return Status::failed;
            tls_.give(bytes);
        }
    }

    bool say(const std::string& text) {
        tls_.write(text);
        return send(tls_.take());
    }

    /// That many bytes; fewer when TLS ends or fails, which status() then tells.
    std::string hear(size_t bytes) {
        std::string got;
        while ((status_ = tls_.read(got, bytes - got.size())) == Status::wants_more) {
            const std::string part = receive_some(65536);
            if (part.empty()) break;
            tls_.give(part);
        }
        return got;
    }
    [[nodiscard]] Status status() const { return status_; }

    /// As far as transmission, all behind TLS.
    void enter_transmission() {
        ASSERT_EQ(start_tls(), Status::done);
        say(option(1));
        ASSERT_EQ(hear(10).size(), 10u);
    }

    /// One request and its reply.
    void expect_served() {
        say(request(nbd::Command::read, 0, 512));
        EXPECT_EQ(hear(16 + 512).substr(0, 16), good_reply());
    }

    void shut_down() { ::shutdown(fd_, SHUT_RDWR); }

  private:
    bool readable() {
        pollfd wait{fd_, POLLIN, 0};
        return ::poll(&wait, 1, 20'000) > 0;
    }

    std::string receive_some(size_t bytes_max) {
        std::string part(bytes_max, '\0');
        if (!readable()) return {};
        part.resize(
            static_cast<size_t>(std::max<ssize_t>(0, ::recv(fd_, part.data(), part.size(), 0))));
        return part;
    }

    int fd_;
    TlsClient tls_;
    Status status_ = Status::done;
};

/// In transmission, behind TLS.
struct ServedWireClient : WireClient {
    ServedWireClient(const std::string& path, const TlsClientOptions& options)
        : WireClient(path, options) {
        enter_transmission();
    }
};

// The parser's buffer, the session's and OpenSSL's own; the sanitizers keep some for each byte.
constexpr uint64_t client_kib_max = (BLKSCOPE_SANITIZED ? 6 : 1) * 512;

class TlsWire : public TlsServedDevice {
  protected:
    /// As the server's log calls the clients of this test.
    static std::string this_process() {
        return "process " + std::to_string(getpid()) + " of user " + std::to_string(getuid());
    }
    uint64_t resident_kib() { return memory_kib(server_->pid(), "VmRSS:"); }

    TlsClientOptions with_certificate(int version = 0) {
        return {.version = version, .certificates = pki_};
    }
};

// ---- Someone on the way ----

// Clear text behind STARTTLS is not answered: neither in clear text nor behind TLS. An answer
// behind TLS was CVE-2021-3716.
TEST_F(TlsWire, AnOptionInClearTextBehindStarttlsIsNeverAnswered) {
    serve_tls("require");
    for (const std::string& injected : {option(3), option(7, question("")), option(1)}) {
        WireClient client(socket_);
        client.receive(nbd::greeting_bytes);
        client.send(fixed + starttls + injected);
        EXPECT_EQ(client.receive(nbd::option_reply_header_bytes), reply(5, ack));
        // All that may come is TLS saying why it gives up.
        const std::string rest = client.receive_to_the_end();
        EXPECT_TRUE(rest.empty() || rest[0] == alert_record) << rest;
        EXPECT_LT(rest.size(), 16u);
    }
    EXPECT_TRUE(said("TLS handshake failed"));
}

TEST_F(TlsWire, WhatIsInjectedBeforeAnHonestHandshakeSpoilsIt) {
    serve_tls("require");
    WireClient client(socket_, with_certificate());
    client.receive(nbd::greeting_bytes);
    client.send(fixed + starttls + option(7, question("")));
    client.receive(nbd::option_reply_header_bytes);
    EXPECT_EQ(client.shake_hands(), Status::failed);
}

// The other direction: a server might answer more than ACK in clear text. The client would take
// that answer for something that TLS protects.
TEST_F(TlsWire, AllThatTheServerSaysBehindItsAckIsTls) {
    serve_tls("on");
    WireClient client(socket_, with_certificate());
    client.receive(nbd::greeting_bytes);
    client.send(fixed + option(3) + option(3) + starttls);
    std::string said_before;
    while (!said_before.ends_with(reply(5, ack))) {
        const std::string byte = client.receive(1);
        ASSERT_EQ(byte.size(), 1u);
        said_before += byte;
    }
    ASSERT_EQ(client.shake_hands(), Status::done);
    client.say(option(2));
    EXPECT_EQ(client.hear(100), reply(2, ack));
    EXPECT_EQ(client.status(), Status::closed);
}

TEST_F(TlsWire, WhatWasAgreedInClearTextIsForgotten) {
    serve_tls("on");
    WireClient client(socket_, with_certificate());
    client.receive(nbd::greeting_bytes);
    client.send(fixed + option(3));
    const std::string header = client.receive(nbd::option_reply_header_bytes);
    const std::string listed = header + client.receive(static_cast<unsigned char>(header.back()));
    ASSERT_EQ(client.receive(nbd::option_reply_header_bytes), reply(3, ack));
    client.send(starttls);
    ASSERT_EQ(client.receive(nbd::option_reply_header_bytes), reply(5, ack));
    ASSERT_EQ(client.shake_hands(), Status::done);
    client.say(option(3));  // a second one would be refused
    EXPECT_EQ(client.hear(listed.size()), listed);
}

TEST_F(TlsWire, ASecondStarttlsIsRefusedAndTheFirstGoesOn) {
    serve_tls("require");
    WireClient client(socket_, with_certificate());
    ASSERT_EQ(client.start_tls(), Status::done);
    client.say(starttls);
    const std::string refused = client.hear(nbd::option_reply_header_bytes);
    EXPECT_TRUE(refused.starts_with(u64(nbd::option_reply_magic) + u32(5) + u32(err_invalid)));
    client.hear(static_cast<unsigned char>(refused.back()));
    client.say(option(1));
    EXPECT_EQ(client.hear(10).size(), 10u);
    client.expect_served();
}

TEST_F(TlsWire, ClearTextInTheMiddleOfTransmissionEndsIt) {
    serve_tls("require");
    ServedWireClient client(socket_, with_certificate());
    client.expect_served();
    client.send(request(nbd::Command::write, 0, 4) + "evil");
    const std::string rest = client.receive_to_the_end();
    EXPECT_EQ(rest.find(good_reply()), std::string::npos);
    EXPECT_TRUE(said("connection closed: TLS:"));
    EXPECT_EQ(read_command_count("write_requests"), 0u);
}

// ---- What is carried ----

TEST_F(TlsWire, SpeaksTheVersionThatTheClientWants) {
    serve_tls("require");
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        ServedWireClient client(socket_, with_certificate(version));
        EXPECT_STREQ(client.tls().version(), version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3");
        client.expect_served();
    }
    WireClient old(socket_, with_certificate(TLS1_1_VERSION));
    EXPECT_EQ(old.start_tls(), Status::failed);
}

TEST_F(TlsWire, RequestsMayShareARecordAndBeSpreadOverMany) {
    serve_tls("require");
    ServedWireClient client(socket_, with_certificate());
    std::string many;
    for (uint64_t i = 0; i < 100; ++i) many += request(nbd::Command::read, i * 512, 512, i);
    client.say(many);
    EXPECT_EQ(client.hear(100 * (16 + 512)).size(), 100u * (16 + 512));
    const std::string write = request(nbd::Command::write, 0, 64) + std::string(64, 'w');
    for (const char byte : write) client.say(std::string(1, byte));
    EXPECT_EQ(client.hear(16), good_reply());
    client.say(request(nbd::Command::read, 0, 64));
    EXPECT_EQ(client.hear(16 + 64), good_reply() + std::string(64, 'w'));
}

TEST_F(TlsWire, TheFirstRequestMayComeWithTheEndOfTheHandshake) {
    serve_tls("require");
    WireClient client(socket_, with_certificate());
    ASSERT_EQ(client.start_tls(), Status::done);
    // One record: the option is the control thread's, what follows it the worker's.
    client.say(option(1) + request(nbd::Command::read, 0, 512));
    EXPECT_EQ(client.hear(10 + 16 + 512).substr(10, 16), good_reply());
}

TEST_F(TlsWire, NewKeysInTheMiddleOfTransmissionDisturbNothing) {
    serve_tls("require");
    ServedWireClient client(socket_, with_certificate(TLS1_3_VERSION));
    for (int i = 0; i < 20; ++i) {
        client.tls().update_keys();
        client.expect_served();
    }
}

TEST_F(TlsWire, ARefusedWritesDataIsReadThroughTlsAndTheStreamStaysInStep) {
    serve_tls("require", {"--read-only"});
    ServedWireClient client(socket_, with_certificate());
    constexpr uint32_t bytes = 300'000;
    client.say(request(nbd::Command::write, 0, bytes) + std::string(bytes, 'w'));
    EXPECT_EQ(client.hear(16), u32(nbd::simple_reply_magic) + u32(1) + u64(7));
    client.expect_served();
}

// ---- Held back ----

// A client that sends requests and reads no replies. The server stops reading from it. When the
// client reads at last, all replies are there.
TEST_F(TlsWire, AClientThatDoesNotReadIsHeldBackAndServedWhenItDoes) {
    serve_tls("require");
    ServedWireClient client(socket_, with_certificate());
    constexpr uint64_t requests = 100;
    constexpr uint32_t bytes = 256 << 10;
    for (uint64_t i = 0; i < requests; ++i) {
        ASSERT_TRUE(client.say(request(nbd::Command::read, 0, bytes, i)));
    }
    // 25 MB are asked for, and 16 MiB is what one client may hold.
    EXPECT_TRUE(eventually([&] { return read_io().reads >= 16; }));
    EXPECT_LT(read_io().reads, requests);
    for (uint64_t i = 0; i < requests; ++i) {
        ASSERT_EQ(client.hear(16 + bytes).size(), size_t{16} + bytes);
    }
    EXPECT_EQ(read_io().reads, requests);
    client.expect_served();
}

// The clients have all the memory that there is, and sleep; another client waits for some. A
// sleeper that once found no shared memory has a request in its reserve, and leaves a slot free.
// So the other client always has more requests under way than slots can be free.
TEST_F(TlsWire, ClientsThatHoldAllTheMemoryAndSleepAreGivenUpForOneThatWaits) {
    serve_tls("require", {"--workers", "1"});  // its clients share its memory
    const std::string read = request(nbd::Command::read, 0, 128 << 10);
    WireClient sleepers[] = {WireClient(socket_, with_certificate()),
                             WireClient(socket_, with_certificate())};
    for (WireClient& sleeper : sleepers) {
        sleeper.enter_transmission();
        for (int i = 0; i < 200; ++i) sleeper.say(read);
    }
    ASSERT_TRUE(eventually([&] { return read_io().reads >= 256; }));
    ServedWireClient waiting(socket_, with_certificate());
    constexpr int ahead = 32;
    std::string first;
    for (int i = 0; i < ahead; ++i) first += read;
    waiting.say(first);
    const auto hear = [&] {
        EXPECT_EQ(waiting.hear(16 + (128 << 10)).substr(0, 16), good_reply());
    };
    EXPECT_TRUE(eventually([&] {
        waiting.say(read);
        hear();
        return server_->output().find("connection closed: uses memory that others wait for") !=
               std::string::npos;
    }));
    for (int i = 0; i < ahead; ++i) hear();
}

TEST_F(TlsWire, WhatAClientCostsIsBoundedByWhatItMayHold) {
    serve_tls("require");
    std::vector<std::unique_ptr<ServedWireClient>> idle;
    const auto connect = [&] {
        idle.push_back(std::make_unique<ServedWireClient>(socket_, with_certificate()));
        idle.back()->say(request(nbd::Command::read, 0, 1 << 20));
        idle.back()->hear(16 + (1 << 20));
    };
    for (int i = 0; i < 20; ++i) connect();
    const uint64_t before = resident_kib();
    for (int i = 0; i < 40; ++i) connect();
    EXPECT_LT(resident_kib() - before, 40 * client_kib_max);
}

// ---- What a request costs ----

TEST_F(TlsWire, NoRequestTakesMemoryFromTheHeapBesideOpenSslsOwn) {
    if (BLKSCOPE_SANITIZED)
        GTEST_SKIP() << "SKIPPED: the sanitizer has a heap of its own in the counter's place";
    const auto allocations = [&] {
        uint64_t count = 0;
        std::ifstream(path("count"), std::ios::binary)
            .read(reinterpret_cast<char*>(&count), sizeof count);
        return count;
    };
    std::ofstream(path("count"), std::ios::binary).write("\0\0\0\0\0\0\0", sizeof(uint64_t));
    setenv("ALLOCATION_COUNT", path("count").c_str(), 1);
    setenv("LD_PRELOAD", ALLOCATION_COUNTER, 1);
    serve_tls("require");
    unsetenv("LD_PRELOAD");
    unsetenv("ALLOCATION_COUNT");
    ServedWireClient client(socket_, with_certificate());
    const auto round = [&] {
        // Not where a partition table could be, which would be read again.
        client.say(request(nbd::Command::write, 1 << 20, 100'000) + std::string(100'000, 'w'));
        EXPECT_EQ(client.hear(16), good_reply());
        client.say(request(nbd::Command::read, 0, 300'000) + request(nbd::Command::flush, 0, 0));
        EXPECT_EQ(client.hear(32 + 300'000).size(), 32u + 300'000);
    };
    for (int i = 0; i < 20; ++i) round();
    const uint64_t at_first = allocations();
    EXPECT_GT(at_first, 0u) << "the counter is not there";
    for (int i = 0; i < 100; ++i) round();
    EXPECT_EQ(allocations() - at_first, 0u);
    EXPECT_EQ(read_command_count("read_requests"), 120u);
    EXPECT_GT(allocations(), at_first) << "the counter stands still: a kstat's reader costs some";
}

// ---- How it ends ----

TEST_F(TlsWire, AfterDiscTheServerAnswersWhatItHasAndSaysThatItIsDone) {
    serve_tls("require");
    ServedWireClient client(socket_, with_certificate());
    client.say(request(nbd::Command::read, 0, 65536) + request(nbd::Command::disc, 0, 0));
    EXPECT_EQ(client.hear(16 + 65536 + 1).size(), size_t{16} + 65536);
    EXPECT_EQ(client.status(), Status::closed);
    EXPECT_EQ(client.receive_to_the_end(), "");
}

TEST_F(TlsWire, AServerThatStopsSaysThatItIsDone) {
    serve_tls("require");
    ServedWireClient client(socket_, with_certificate());
    client.expect_served();
    server_->signal(SIGTERM);
    EXPECT_EQ(client.hear(1), "");
    EXPECT_EQ(client.status(), Status::closed);
    EXPECT_EQ(server_->wait(), 0);
}

TEST_F(TlsWire, TheClientsOwnEndIsAnsweredWithOurs) {
    serve_tls("require");
    ServedWireClient client(socket_, with_certificate());
    client.tls().close();
    client.send(client.tls().take());
    EXPECT_EQ(client.hear(1), "");
    EXPECT_EQ(client.status(), Status::closed);
    EXPECT_EQ(server_->output().find("cut off"), std::string::npos);
}

// Half a write must not reach the disk because an attacker cut the stream there.
TEST_F(TlsWire, AStreamThatIsCutOffWithinARequestIsToldOfAndNotCarriedOut) {
    serve_tls("require");
    const std::string write = request(nbd::Command::write, 0, 4096) + std::string(4096, 'w');
    {
        ServedWireClient client(socket_, with_certificate());
        client.say(write.substr(0, 2000));
        client.shut_down();
    }
    EXPECT_TRUE(said("the TLS stream was cut off in the middle of a request"));
    ServedWireClient client(socket_, with_certificate());
    client.say(request(nbd::Command::read, 0, 4096));
    EXPECT_EQ(client.hear(16 + 4096), good_reply() + std::string(4096, '\0'));
    EXPECT_EQ(read_command_count("write_requests"), 0u);
}

TEST_F(TlsWire, ARecordThatIsCutOffIsToldOf) {
    serve_tls("require");
    ServedWireClient client(socket_, with_certificate());
    client.tls().write(request(nbd::Command::read, 0, 512));
    const std::string record = client.tls().take();
    client.send(record.substr(0, record.size() - 1));
    client.shut_down();
    EXPECT_TRUE(said("the TLS stream was cut off in the middle of a request"));
}

TEST_F(TlsWire, ATamperedRecordEndsTheConnectionAndNothingOfItIsDone) {
    serve_tls("require");
    ServedWireClient client(socket_, with_certificate());
    client.tls().write(request(nbd::Command::write, 0, 16) + std::string(16, 'w'));
    std::string record = client.tls().take();
    record.back() = static_cast<char>(record.back() ^ 1);
    client.send(record);
    EXPECT_EQ(client.hear(1), "");
    EXPECT_EQ(client.status(), Status::failed);  // the alert
    EXPECT_TRUE(said("connection closed: TLS: decryption failed or bad record mac"));
    EXPECT_TRUE(said("bad record mac; the client is " + this_process()));
    EXPECT_EQ(read_command_count("write_requests"), 0u);
    ServedWireClient other(socket_, with_certificate());
    other.expect_served();
}

// Requests that take long, many that are answered at once, and a record that ends the connection.
// The end comes while replies are being sent. The server must look at each such client again.
TEST_F(TlsWire, ABadRecordBehindABacklogEndsTheConnectionForGood) {
    constexpr int limit = 8;
    serve_tls("require", {"--max-connections", std::to_string(limit), "--workers", "1"},
              "memory:1G");
    std::vector<std::unique_ptr<ServedWireClient>> clients;
    for (int i = 0; i < limit; ++i) {
        clients.push_back(std::make_unique<ServedWireClient>(socket_, with_certificate()));
    }
    for (const auto& client : clients) {
        TlsClient& tls = client->tls();
        tls.write(request(nbd::Command::write_zeroes, 0, 1 << 30));
        for (int n = 0; n < 80; ++n) tls.write(request(nbd::Command::read, 0, 4096));
        std::string stream = tls.take();
        tls.write(request(nbd::Command::read, 0, 4096));
        std::string spoilt = tls.take();
        spoilt.back() = static_cast<char>(spoilt.back() ^ 1);
        ASSERT_TRUE(client->send(stream + spoilt));
    }
    EXPECT_TRUE(eventually([&] { return read_command_count("connections") == 0; }));
    clients.clear();
    EXPECT_TRUE(eventually([&] {
        WireClient honest(socket_, with_certificate());
        return honest.receive(nbd::greeting_bytes).size() == nbd::greeting_bytes;
    }));
    const auto stopped = std::chrono::steady_clock::now();
    stop_server();
    EXPECT_LT(std::chrono::steady_clock::now() - stopped, std::chrono::seconds(10));
}

// ---- Abuse of the handshake ----

TEST_F(TlsWire, AClientThatStartsTlsAndFallsSilentIsDroppedInTime) {
    serve_tls("require", {"--handshake-timeout", "1"});
    WireClient silent(socket_);
    silent.receive(nbd::greeting_bytes);
    silent.send(fixed + starttls);
    silent.receive(nbd::option_reply_header_bytes);
    EXPECT_EQ(silent.receive_to_the_end(), "");
    WireClient negotiates(socket_, with_certificate());
    ASSERT_EQ(negotiates.start_tls(), Status::done);
    negotiates.receive_to_the_end();
}

TEST_F(TlsWire, AHandshakeThatIsTooLongIsDropped) {
    serve_tls("require", {"--handshake-timeout", "3600"});
    WireClient client(socket_);
    client.receive(nbd::greeting_bytes);
    client.send(fixed + starttls);
    client.receive(nbd::option_reply_header_bytes);
    // One ClientHello of 131000 bytes, in records that are as long as records may be.
    constexpr size_t record_bytes = 16384;
    const std::string record_header = std::string("\x16\x03\x01", 3) + u16(record_bytes);
    std::string message = std::string("\x01\x01\xff\xb8", 4) + std::string("\x03\x03", 2);
    message.resize(record_bytes, 'x');
    for (int i = 0; i < 7; ++i) {
        if (!client.send(record_header + message)) break;
        message.assign(record_bytes, 'x');
    }
    client.receive_to_the_end();
    EXPECT_TRUE(said("TLS handshake failed: longer than 65536 bytes"));
    EXPECT_TRUE(said(this_process() + ": TLS handshake failed: longer"));
}

TEST_F(TlsWire, RandomBytesInPlaceOfTlsHurtNobody) {
    serve_tls("require");
    std::mt19937 random(20261121);
    for (int i = 0; i < 50; ++i) {
        WireClient client(socket_);
        client.receive(nbd::greeting_bytes);
        std::string bytes(1 + random() % 2000, '\0');
        for (char& c : bytes) c = static_cast<char>(random());
        client.send(fixed + starttls + bytes);
        client.receive(nbd::option_reply_header_bytes);
        client.shut_down();
    }
    ServedWireClient client(socket_, with_certificate());
    client.expect_served();
}

}  // namespace
}  // namespace blkscope::test
