// Admission of clients on the test's own executor: limits, and clients that try to keep others out.
#include "driver/nbd/server/reception.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "driver/nbd/tls/tls_session.hpp"
#include "fake_executor.hpp"
#include "handshake_client.hpp"

namespace blkscope::nbd {
namespace {

using namespace std::chrono_literals;

struct RecordingOwner final : Reception::Owner {
    size_t served() const override { return connections; }
    uint64_t serial_of(size_t export_index) const override { return export_index; }
    void serve(uint64_t, const Terms&, int, std::unique_ptr<TlsSession>, const Peer&) override {
        ++connections;
        ++came;
    }
    void handshake_ended() override {}

    size_t connections = 0;
    size_t came = 0;
};

const std::string question_and_go = testing::fixed + testing::option(7, testing::question("disk"));

class ReceptionTest : public ::testing::Test {
  protected:
    static Reception::Rules rules(unsigned connections_max, unsigned handshakes_max) {
        return {.handshake_time = 10s,
                .connections_max = connections_max,
                .handshakes_max = handshakes_max};
    }
    static Peer at(const std::string& address) {
        return {.kind = Peer::Kind::address, .address = IpAddress::parse(address).value()};
    }

    /// A client that connects and sends nothing yet.
    std::shared_ptr<FakeWire> connect(const std::string& address) {
        auto wire = std::make_shared<FakeWire>();
        reception_.admit(executor_.connect(wire, at(address)));
        return wire;
    }
    /// Connects a client that negotiates and closes; true if it was served.
    bool served(const std::string& address) {
        const size_t before = owner_.came;
        const auto wire = connect(address);
        wire->send(std::as_bytes(std::span(question_and_go)));
        executor_.run();
        const bool in = owner_.came > before;
        owner_.connections -= in ? 1 : 0;
        return in;
    }

    Exports names_ = testing::two_exports();
    FakeExecutor executor_;
    RecordingOwner owner_;
    Reception reception_{executor_, owner_, [this]() -> const Exports& { return names_; },
                         rules(256, 64)};
};

TEST_F(ReceptionTest, IdleHandshakesOfOneAddressKeepNobodyOut) {
    for (int i = 0; i < 200; ++i) connect("192.0.2.66");
    EXPECT_EQ(reception_.handshakes(), 64u);
    for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(served("192.0.2.1"));
        connect("192.0.2.66");
    }
    EXPECT_LE(reception_.handshakes(), 64u);
}

// The attacker connects again between each two bytes of the honest client.
TEST_F(ReceptionTest, AFloodFromOneAddressEndsNoOtherHandshake) {
    for (int i = 0; i < 64; ++i) connect("192.0.2.66");
    const auto honest = connect("192.0.2.1");
    for (const char& byte : question_and_go) {
        honest->send(std::as_bytes(std::span(&byte, 1)));
        for (int i = 0; i < 70; ++i) connect("192.0.2.66");
        executor_.run();
    }
    EXPECT_EQ(owner_.came, 1u);
}

// The attacker has many addresses. A client still gets in if its handshake needs less time than 64
// connections.
TEST_F(ReceptionTest, ManyAddressesDoNotKeepAQuickClientOut) {
    for (int i = 0; i < 200; ++i) connect("198.51.100." + std::to_string(i));
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(served("192.0.2.1"));
}

TEST_F(ReceptionTest, HandshakesMakeRoomWhereConnectionsAreAtTheirLimit) {
    reception_.set_rules(rules(8, 64));
    owner_.connections = 6;
    const auto one = connect("192.0.2.66");
    const auto two = connect("192.0.2.66");
    EXPECT_TRUE(served("192.0.2.1"));
    EXPECT_TRUE(one->server_closed);
    EXPECT_FALSE(two->server_closed);
}

TEST_F(ReceptionTest, ClientsThatAreServedMakeNoRoom) {
    reception_.set_rules(rules(8, 64));
    owner_.connections = 8;
    ::testing::internal::CaptureStderr();
    const auto late = connect("192.0.2.1");
    EXPECT_TRUE(late->server_closed);
    EXPECT_EQ(reception_.handshakes(), 0u);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "blkscope: 192.0.2.1 port 0 refused: there are 8 connections, and no more are "
              "allowed\n");
}

TEST_F(ReceptionTest, ALowerLimitHoldsFromTheNextClientOn) {
    for (int i = 0; i < 20; ++i) connect("192.0.2." + std::to_string(i));
    reception_.set_rules(rules(256, 5));
    connect("192.0.2.30");
    EXPECT_EQ(reception_.handshakes(), 5u);
}

TEST_F(ReceptionTest, SaysWhoseHandshakeEndedAndForWhom) {
    reception_.set_rules(rules(256, 2));
    ::testing::internal::CaptureStderr();
    connect("192.0.2.66");
    connect("192.0.2.66");
    connect("192.0.2.1");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "blkscope: handshake with 192.0.2.66 port 0 ended to make room for 192.0.2.1 port 0: "
              "the former has 2 of 2 handshakes\n");
}

TEST_F(ReceptionTest, AFloodCannotFillTheLog) {
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 10'000; ++i) connect("192.0.2.66");
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), LogLimit::burst);
}

// Idle handshakes use the other descriptors; an honest client gets the last one.
TEST_F(ReceptionTest, InNeedOfDescriptorsAHandshakeMakesRoom) {
    const auto idle = connect("192.0.2.66");
    const auto wire = std::make_shared<FakeWire>();
    reception_.admit_in_need(executor_.connect(wire, at("192.0.2.1")), EMFILE);
    EXPECT_TRUE(idle->server_closed);
    wire->send(std::as_bytes(std::span(question_and_go)));
    executor_.run();
    EXPECT_EQ(owner_.came, 1u);
}

TEST_F(ReceptionTest, InNeedOfDescriptorsAClientIsTurnedAwayWhereNoneCanBeHad) {
    ::testing::internal::CaptureStderr();
    const auto wire = std::make_shared<FakeWire>();
    reception_.admit_in_need(executor_.connect(wire, at("192.0.2.1")), EMFILE);
    EXPECT_TRUE(wire->server_closed);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "blkscope: 192.0.2.1 port 0 refused: no descriptors left: Too many open files\n");
}

// A client that is not on the list must not cost others their places.
TEST_F(ReceptionTest, AClientThatIsNotAllowedMakesNobodyGo) {
    Reception::Rules strict = rules(256, 1);
    strict.allow = AllowList({"192.0.2.1"});
    reception_.set_rules(strict);
    const auto honest = connect("192.0.2.1");
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(connect("192.0.2.66")->server_closed);
    const auto wire = std::make_shared<FakeWire>();
    reception_.admit_in_need(executor_.connect(wire, at("192.0.2.66")), EMFILE);
    EXPECT_TRUE(wire->server_closed);
    EXPECT_FALSE(honest->server_closed);
    EXPECT_EQ(reception_.handshakes(), 1u);
    ::testing::internal::GetCapturedStderr();
}

TEST_F(ReceptionTest, ClosedItHasNothingLeftToCall) {
    for (int i = 0; i < 70; ++i) connect("192.0.2.66");
    reception_.close();
    EXPECT_EQ(reception_.handshakes(), 0u);
    EXPECT_EQ(executor_.alarms(), 0u);
    executor_.pass(1min);
    EXPECT_EQ(owner_.came, 0u);
}

}  // namespace
}  // namespace blkscope::nbd
