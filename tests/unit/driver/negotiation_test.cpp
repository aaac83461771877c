// A negotiation on the test's own executor: no descriptor, no thread, and the test moves the time.
#include "driver/nbd/server/negotiation.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/nbd/server/listener.hpp"
#include "driver/nbd/server/reception.hpp"
#include "driver/nbd/server/server.hpp"
#include "driver/nbd/tls/tls_session.hpp"
#include "fake_executor.hpp"
#include "handshake_client.hpp"

#ifdef BOOST_ASIO_DETAIL_CONFIG_HPP
#error "the control side knows executors by interface only"
#endif

namespace blkscope::nbd {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t option_go = 7;
constexpr uint32_t option_abort = 2;

struct NegotiationHost final : Negotiation::Host {
    void negotiated(Negotiation&, uint64_t export_serial, const Terms&, int socket,
                    std::unique_ptr<TlsSession>) override {
        serials.push_back(export_serial);
        sockets.push_back(socket);
    }
    void ended(Negotiation&) override { ++endings; }
    uint64_t serial_of(size_t export_index) const override { return 100 + export_index; }
    void log(std::string_view line) override { lines.emplace_back(line); }

    std::vector<uint64_t> serials;
    std::vector<int> sockets;
    int endings = 0;
    std::vector<std::string> lines;
};

constexpr auto grace = 250ms;  // behind the deadline

class NegotiationTest : public ::testing::Test {
  protected:
    void begin(std::chrono::milliseconds deadline = 10s) {
        const Peer peer{.kind = Peer::Kind::process, .pid = 815, .uid = 1000};
        negotiation_ = std::make_shared<Negotiation>(host_, executor_, Negotiation::Offer{names_},
                                                     executor_.connect(wire_, peer));
        negotiation_->start(deadline);
        executor_.run();
    }
    void send(const std::string& text) {
        wire_->send(std::as_bytes(std::span(text)));
        executor_.run();
    }
    std::string answers() const {
        return {reinterpret_cast<const char*>(wire_->to_client.data()), wire_->to_client.size()};
    }
    // Nothing is left that could make a call: no operation, no timer, and the test is the only
    // owner.
    void expect_quiet() const {
        EXPECT_FALSE(wire_->received || wire_->sent);
        EXPECT_EQ(executor_.alarms(), 0u);
        EXPECT_EQ(negotiation_.use_count(), 1);
    }

    Exports names_ = testing::two_exports();
    NegotiationHost host_;
    FakeExecutor executor_;
    std::shared_ptr<FakeWire> wire_ = std::make_shared<FakeWire>();
    std::shared_ptr<Negotiation> negotiation_;
};

const std::string go = testing::fixed + testing::option(option_go, testing::question("disk"));

TEST_F(NegotiationTest, HandsTheSocketOverWithTheExportThatWasAskedFor) {
    begin();
    send(go);
    EXPECT_EQ(host_.serials, std::vector<uint64_t>{100});
    EXPECT_EQ(host_.sockets, std::vector<int>{7});
    EXPECT_TRUE(wire_->released);
    EXPECT_EQ(host_.endings, 0);
    expect_quiet();
}

TEST_F(NegotiationTest, ASocketThatCannotBeHandedOverEndsItWithTheReason) {
    wire_->release_error = EBADF;
    begin();
    send(go);
    EXPECT_TRUE(host_.sockets.empty());
    EXPECT_EQ(host_.endings, 1);
    ASSERT_EQ(host_.lines.size(), 1u);
    EXPECT_NE(host_.lines[0].find("failed: Bad file descriptor"), std::string::npos);
    expect_quiet();
}

TEST_F(NegotiationTest, TakesBytesOneByOneAndAnswersTheSame) {
    begin();
    send(go);
    const std::string at_once = answers();
    wire_ = std::make_shared<FakeWire>();
    wire_->segment_bytes = 1;
    begin();
    send(go);
    EXPECT_EQ(answers(), at_once);
    EXPECT_EQ(wire_->reads, std::vector<int>(go.size(), 1));
    EXPECT_EQ(host_.serials, (std::vector<uint64_t>{100, 100}));
    expect_quiet();
}

TEST_F(NegotiationTest, LeavesTheNextPhasesBytesInTheSocket) {
    begin();
    send(go + "a request");
    EXPECT_EQ(wire_->to_server.size(), std::string("a request").size());
    EXPECT_EQ(host_.serials.size(), 1u);
}

// A loss of power, for example, holds up the control thread for up to 5 s.
TEST_F(NegotiationTest, AServerThatWasBusyUntilTheDeadlineReadsWhatTheClientHasSent) {
    begin(10s);
    wire_->send(std::as_bytes(std::span(go)));
    executor_.stall(30s);
    EXPECT_EQ(host_.endings, 0);
    executor_.run();
    EXPECT_EQ(host_.serials, std::vector<uint64_t>{100});
    expect_quiet();
}

TEST_F(NegotiationTest, EndsAClientThatIsSilentUntilItsDeadline) {
    begin(10s);
    executor_.pass(10s + grace - 1ns);
    EXPECT_EQ(host_.endings, 0);
    executor_.pass(1ns);
    EXPECT_EQ(host_.endings, 1);
    ASSERT_EQ(host_.lines.size(), 1u);
    EXPECT_EQ(host_.lines[0], "handshake with process 815 of user 1000 not done within 10 s");
    EXPECT_TRUE(wire_->server_closed);
    expect_quiet();
}

// Many servers keep a connection open that sends one byte a second.
TEST_F(NegotiationTest, EndsAClientThatDripsAtTheSameDeadline) {
    begin(10s);
    for (int second = 0; second < 9; ++second) {
        executor_.pass(1s);
        send(go.substr(static_cast<size_t>(second), 1));
    }
    EXPECT_EQ(host_.endings, 0);
    executor_.pass(1s + grace);
    EXPECT_EQ(host_.endings, 1);
    expect_quiet();
}

TEST_F(NegotiationTest, EndsAClientThatDoesNotTakeItsAnswersAtTheSameDeadline) {
    wire_->client_reads = false;
    begin(10s);
    send(go);
    executor_.pass(9s);
    EXPECT_EQ(host_.endings, 0);
    executor_.pass(1s + grace);
    EXPECT_EQ(host_.endings, 1);
    expect_quiet();
}

TEST_F(NegotiationTest, ADeadlineThatHasBeenMetIsNoAlarmAnyMore) {
    begin(10s);
    send(go);
    executor_.pass(1h);
    EXPECT_EQ(host_.endings, 0);
    EXPECT_TRUE(host_.lines.empty());
}

TEST_F(NegotiationTest, EndsWhenTheClientGoesInTheMiddleOfAnOption) {
    begin();
    send(go.substr(0, 10));
    wire_->client_gone = true;
    executor_.run();
    EXPECT_EQ(host_.endings, 1);
    expect_quiet();
}

TEST_F(NegotiationTest, EndsWhenTheClientAborts) {
    begin();
    send(testing::fixed + testing::option(option_abort));
    EXPECT_EQ(host_.endings, 1);
    EXPECT_TRUE(host_.serials.empty());
    expect_quiet();
}

// After stop() at any step there is no call and no memory left.
TEST_F(NegotiationTest, StoppedAtAnyStepItIsSilentAndGone) {
    for (size_t steps = 0;; ++steps) {
        wire_ = std::make_shared<FakeWire>();
        wire_->segment_bytes = 3;
        const size_t served = host_.serials.size();
        const Peer peer{};
        negotiation_ = std::make_shared<Negotiation>(host_, executor_, Negotiation::Offer{names_},
                                                     executor_.connect(wire_, peer));
        negotiation_->start(10s);
        wire_->send(std::as_bytes(std::span(go)));
        for (size_t i = 0; i < steps; ++i) executor_.step();
        if (host_.serials.size() > served) break;  // the last step was reached
        negotiation_->stop();
        expect_quiet();
        executor_.pass(1min);
        EXPECT_EQ(host_.endings, 0);
        EXPECT_TRUE(host_.serials.empty());
        EXPECT_TRUE(wire_->server_closed);
        ASSERT_LT(steps, 1000u);
    }
    EXPECT_EQ(host_.serials.size(), 1u);
}

}  // namespace
}  // namespace blkscope::nbd
