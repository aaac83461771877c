// A requester on a real ring. The test is the server, at the other end of a pair of sockets.

#include "driver/nbd/client/requester.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sent_request.hpp"

namespace blkscope::nbd {
namespace {

constexpr hrtime_t patience_ns = 60'000'000'000;

class RequesterTest : public ::testing::Test, protected RequesterOwner {
  protected:
    RequesterTest() : ring_(64) { ring_.enable(); }
    void SetUp() override {
        std::array<int, 2> ends{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        client_ = Descriptor(ends[0]);
        server_ = Descriptor(ends[1]);
    }

    void connect(hrtime_t patience = patience_ns,
                 Requester::Receives receives = Requester::Receives::always) {
        RequesterOwner& owner = *this;
        requester_.emplace(owner, ring_,
                           RemoteConnection{std::move(client_), nullptr, RemoteExport{}}, patience,
                           receives);
    }
    void TearDown() override {
        if (!requester_) return;
        requester_->close();
        server_ = Descriptor();
        turn_until([&] { return requester_->is_closed(); });
    }

    template <class Condition>
    void turn_until(Condition condition) {
        while (!condition()) {
            ring_.wait();
            ring_.dispatch();
        }
    }

    void answered(RemoteRequest& request) override {
        answered_.push_back(request.request.offset);
        if (gives_up_) requester_->give_up("no use");
    }
    void lost(std::string_view why) override { why_ = why; }

    Request receive_request() {
        std::array<std::byte, request_bytes> bytes{};
        EXPECT_EQ(recv(server_.get(), bytes.data(), bytes.size(), MSG_WAITALL),
                  static_cast<ssize_t>(bytes.size()));
        return testing::sent_request(bytes);
    }
    /// Takes what the client still sends, until the condition is true.
    template <class Condition>
    void drain_until(Condition condition) {
        std::vector<std::byte> bytes(size_t{1} << 20);
        while (!condition()) {
            recv(server_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            ring_.wait(false);
            ring_.dispatch();
        }
    }
    void reply(const Request& request, Error error, size_t data = 0) {
        std::vector<std::byte> bytes(simple_reply_bytes + data);
        encode_simple_reply(std::span<std::byte>(bytes).first<simple_reply_bytes>(), error,
                            request.cookie);
        EXPECT_EQ(::send(server_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    static RemoteRequest request(Command command, uint64_t offset, uint64_t length,
                                 uint16_t flags = 0) {
        RemoteRequest request;
        request.request = {flags, command, 0, offset, length};
        return request;
    }

    Ring ring_;
    Descriptor client_;
    Descriptor server_;
    std::optional<Requester> requester_;
    std::vector<uint64_t> answered_;
    bool gives_up_ = false;  // after the first answer
    std::string why_;
};

TEST_F(RequesterTest, ALateAnswerDelaysNoLaterRequest) {
    connect();
    const std::vector<std::byte> data(512, std::byte{'w'});
    RemoteRequest read = request(Command::read, 0, 4096);
    RemoteRequest write = request(Command::write, 512, 512, command_flag::fua);
    write.payload = data.data();
    RemoteRequest trim = request(Command::trim, 8192, 4096);
    requester_->send(read);
    requester_->send(write);
    ring_.wait(false);
    ring_.dispatch();
    ring_.wait(false);
    const Request first = receive_request();
    const Request second = receive_request();
    EXPECT_EQ(first.type, Command::read);
    EXPECT_EQ(second.flags, command_flag::fua);
    std::array<std::byte, 512> received{};
    ASSERT_EQ(recv(server_.get(), received.data(), received.size(), MSG_WAITALL), 512);
    EXPECT_EQ(received.front(), std::byte{'w'});
    reply(second, Error::enospc);
    turn_until([&] { return answered_.size() == 1; });
    EXPECT_EQ(write.error, static_cast<uint32_t>(Error::enospc));
    requester_->send(trim);
    ring_.wait(false);
    ring_.dispatch();
    ring_.wait(false);
    reply(receive_request(), Error::none);
    reply(first, Error::none, 4096);
    turn_until([&] { return requester_->owed() == 0; });
    EXPECT_EQ(answered_, (std::vector<uint64_t>{512, 8192, 0}));
    EXPECT_TRUE(why_.empty());
}

TEST_F(RequesterTest, TheConnectionEndsIfAnAnswerDoesNotComeInTime) {
    connect(1'000'000);
    RemoteRequest read = request(Command::read, 0, 4096);
    requester_->send(read);
    turn_until([&] { return !why_.empty(); });
    EXPECT_EQ(why_, "the server has not answered a request in time");
    EXPECT_TRUE(answered_.empty());
}

// A request that is sent again has waited before. The rest of its patience counts, and a quarter at
// least.
TEST_F(RequesterTest, ARequestThatHasWaitedBeforeIsLateEarlier) {
    connect(6'000'000'000);
    RemoteRequest read = request(Command::read, 0, 4096);
    read.since = ring_.now() - kernel_ticks(ring_.kernel(), 5'900'000'000);
    const auto began = std::chrono::steady_clock::now();
    requester_->send(read);
    turn_until([&] { return !why_.empty(); });
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_EQ(why_, "the server has not answered a request in time");
    EXPECT_GE(took, std::chrono::milliseconds(1'400));
    EXPECT_LT(took, std::chrono::seconds(6));
}

TEST_F(RequesterTest, TheConnectionEndsAfterASecondAnswer) {
    connect();
    RemoteRequest flush = request(Command::flush, 0, 0);
    requester_->send(flush);
    ring_.wait(false);
    ring_.dispatch();
    ring_.wait(false);
    const Request sent = receive_request();
    reply(sent, Error::none);
    reply(sent, Error::none);
    turn_until([&] { return !why_.empty(); });
    EXPECT_EQ(why_, "the server answers a request that was not sent");
    EXPECT_EQ(answered_.size(), 1u);
}

TEST_F(RequesterTest, TheConnectionIsLostIfTheServerCloses) {
    connect();
    server_ = Descriptor();
    turn_until([&] { return !why_.empty(); });
    EXPECT_FALSE(why_.empty());
    EXPECT_EQ(requester_->owed(), 0u);
}

// Without requests nothing is received, but the end is seen. As with TCP, the client could still send.
TEST_F(RequesterTest, AnIdleConnectionIsLostAtItsEndAndAtBytesThatNobodyAskedFor) {
    for (const bool ends : {true, false}) {
        SetUp();
        why_.clear();
        connect(patience_ns, Requester::Receives::while_owed);
        EXPECT_TRUE(requester_->is_closed());
        if (ends) {
            EXPECT_EQ(shutdown(server_.get(), SHUT_WR), 0);
        } else {
            EXPECT_EQ(::send(server_.get(), "x", 1, MSG_NOSIGNAL), 1);
        }
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        turn_until([&] { return !why_.empty() || std::chrono::steady_clock::now() > deadline; });
        EXPECT_FALSE(why_.empty());
        TearDown();
        requester_.reset();
    }
}

// The answer comes before the server has read the data, which it never does.
TEST_F(RequesterTest, TheConnectionEndsIfARequestIsNotTakenInTime) {
    connect(1'000'000);
    const std::vector<std::byte> data(size_t{8} << 20);
    RemoteRequest write = request(Command::write, 0, data.size());
    write.payload = data.data();
    requester_->send(write);
    ring_.wait(false);
    ring_.dispatch();
    ring_.wait(false);
    reply(receive_request(), Error::eio);
    turn_until([&] { return !why_.empty(); });
    EXPECT_EQ(why_, "the server has not taken a request in time");
}

// The answer comes before the server has read the data. No receive may be left when it has.
TEST_F(RequesterTest, AnEarlyAnswerLeavesNoReceiveBehind) {
    connect(patience_ns, Requester::Receives::while_owed);
    const std::vector<std::byte> data(size_t{8} << 20);
    RemoteRequest write = request(Command::write, 0, data.size());
    write.payload = data.data();
    requester_->send(write);
    ring_.wait(false);
    ring_.dispatch();
    ring_.wait(false);
    reply(receive_request(), Error::none);
    turn_until([&] { return write.answered > 0; });
    EXPECT_TRUE(answered_.empty());
    drain_until([&] { return !answered_.empty(); });
    EXPECT_EQ(requester_->owed(), 0u);
    EXPECT_TRUE(requester_->is_closed());
}

// Both answers are there when the send ends, and the owner gives up at the first.
TEST_F(RequesterTest, NoRequestIsAnsweredAfterTheLoss) {
    connect();
    gives_up_ = true;
    const std::vector<std::byte> data(size_t{8} << 20);
    RemoteRequest trim = request(Command::trim, 512, 512);
    RemoteRequest write = request(Command::write, 0, data.size());
    write.payload = data.data();
    requester_->send(trim);
    requester_->send(write);
    ring_.wait(false);
    ring_.dispatch();
    ring_.wait(false);
    reply(receive_request(), Error::none);
    reply(receive_request(), Error::none);
    turn_until([&] { return trim.answered > 0 && write.answered > 0; });
    drain_until([&] { return !answered_.empty(); });
    EXPECT_EQ(answered_, (std::vector<uint64_t>{512}));
    EXPECT_EQ(why_, "no use");
}

TEST_F(RequesterTest, WhatWasNotSentCanBeForgotten) {
    connect();
    const std::vector<std::byte> data(size_t{8} << 20);
    std::vector<RemoteRequest> writes(3, request(Command::write, 0, data.size()));
    for (RemoteRequest& write : writes) {
        write.payload = data.data();
        requester_->send(write);
    }
    ring_.wait(false);
    ring_.dispatch();
    requester_->drop_unsent();
    EXPECT_EQ(requester_->owed(), 1u);  // a send has one request beyond its limit of bytes
}

// A server that reads nothing cannot keep the client.
TEST_F(RequesterTest, ItClosesEvenIfTheServerReadsNothing) {
    connect();
    const std::vector<std::byte> data(size_t{8} << 20);
    RemoteRequest write = request(Command::write, 0, data.size());
    write.payload = data.data();
    requester_->send(write);
    for (int i = 0; i < 4; ++i) {
        ring_.wait(false);
        ring_.dispatch();
    }
    requester_->close();
    turn_until([&] { return requester_->is_closed(); });
    EXPECT_TRUE(answered_.empty());
}

}  // namespace
}  // namespace blkscope::nbd
