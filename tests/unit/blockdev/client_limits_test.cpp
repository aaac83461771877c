// Limits of clients: each has tokens of its own, and a client without tokens keeps no other out.
#include "blockdev/device/client_limits.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/seqlock.hpp"
#include "behaviour_fixture.hpp"
#include "blockdev/accounting/client_stats.hpp"
#include "blockdev/device/tokens.hpp"
#include "blockdev/queue/device_queue.hpp"

namespace blkscope {
namespace {

struct Waiting : Buf {
    explicit Waiting(Client* whose) {
        client = whose;
        bcount = 4096;
        state = State::waiting;
    }
};

/// A client with limits, a device with limits, and three reads of which one has tokens.
class ClientLimitsOfReads : public ::testing::Test {
  protected:
    void start(const char* of_client, const char* of_device) {
        client_.limits.emplace(model::LimitSpec::parse(of_client), 0);
        device_.emplace(model::LimitSpec::parse(of_device), 0);
        for (int i = 0; i < 3; ++i) queue_.enter(reads_.emplace_back(&client_));
        client_.limits->begin(0);
        queue_.begin_pass(*device_, 0);
        EXPECT_EQ(queue_.next(&*device_).buf, &reads_[0]);
        EXPECT_EQ(queue_.next(&*device_).buf, nullptr);
    }

    Client client_;
    std::optional<model::Limits> device_;
    DeviceQueue queue_{8};
    std::deque<Waiting> reads_;
};

TEST_F(ClientLimitsOfReads, ARequestThatItsClientRefusesTakesNoTokensOfTheDevice) {
    start("iops=100", "iops=1000");
    EXPECT_EQ(device_->level(model::LimitSpec::Name::iops, 0), 9);
    EXPECT_FALSE(device_->again_at());
    EXPECT_EQ(client_.limits->again_at(), 1);
}

TEST_F(ClientLimitsOfReads, ARequestThatTheDeviceRefusesTakesNoTokensOfItsClient) {
    start("iops=1000", "iops=100");
    EXPECT_EQ(client_.limits->level(model::LimitSpec::Name::iops, 0), 9);
}

// Clients with limits have lines of their own, and one order.
TEST(ClientLimits, RequestsStartInTheOrderOfTheirArrivalOverAllClients) {
    Client a;
    Client b;
    DeviceQueue queue(64);
    std::deque<Waiting> reads;
    const auto enter = [&](Client* client) {
        Waiting& read = reads.emplace_back(client);
        read.queued = static_cast<hrtime_t>(reads.size());
        queue.enter(read);
    };
    enter(&a);  // before there are limits
    for (Client* client : {&a, &b}) client->limits.emplace(model::LimitSpec::parse("iops=1000"), 0);
    for (Client* client : {&b, &a, &a, &b, &a}) enter(client);
    enter(nullptr);
    queue.begin_pass(0);
    for (const Waiting& read : reads) EXPECT_EQ(queue.next().buf, &read);
    EXPECT_EQ(queue.next().buf, nullptr);
}

// Thousands of requests that wait for tokens are not looked at for each request of another client.
TEST(ClientLimits, ARequestThatWaitsCostsOtherClientsNothing) {
    for (const char* spec : {"iops=1,unit=512", "bps=1", "read_iops=1,unit=512"}) {
        constexpr hrtime_t us = 1'000;
        Client client;
        client.key = "limited";
        Tokens tokens;
        DeviceQueue queue(8);
        tokens.set_clients(model::LimitSpec::parse(spec), 0);
        tokens.clients().opened(client, 0);
        std::deque<Waiting> reads;
        for (int i = 0; i < 5000; ++i) queue.enter(reads.emplace_back(&client));
        Waiting* other = nullptr;
        for (hrtime_t now = 1; now < 1000 * us; now += us) {
            tokens.begin_pass(queue, now);
            const DeviceQueue::Turn turn = queue.next(tokens.device());
            ASSERT_EQ(turn.buf, other == nullptr ? &reads.front() : other);
            EXPECT_EQ(queue.next(tokens.device()).buf, nullptr);
            EXPECT_TRUE(tokens.again_at(queue, linux_kernel()));
            queue.ended(*turn.buf);
            other = &reads.emplace_back(nullptr);
            queue.enter(*other);
        }
        EXPECT_EQ(queue.refusals(), 1u);
    }
}

/// Opens a client with this key, lets it read `bytes`, and closes it. Returns its tokens before that.
int64_t tokens_of_visit(ClientLimits& limits, const std::string& key, uint64_t bytes,
                        hrtime_t now) {
    Client client;
    client.key = key;
    limits.opened(client, now);
    Waiting read(&client);
    read.bcount = bytes;
    client.limits->begin(now);
    const int64_t tokens = client.limits->level(model::LimitSpec::Name::bps, now);
    EXPECT_EQ(client.limits->admit(read), tokens > 0);
    limits.closed(client, now);
    return tokens;
}

// Credits that a client has earned are its own, though new clients begin with fewer.
TEST(ClientLimits, AClientThatConnectsAgainHasTheCreditsThatItHadEarned) {
    constexpr hrtime_t second = 1'000'000'000;
    ClientLimits limits;
    limits.set(model::LimitSpec::parse("bps=1000:2000:5000:10"), 0);
    EXPECT_EQ(tokens_of_visit(limits, "a", 10, 0), 10);
    EXPECT_EQ(tokens_of_visit(limits, "a", 10, 9 * second), 5000);
    EXPECT_EQ(tokens_of_visit(limits, "a", 10, 99 * second), 5000);
    EXPECT_EQ(tokens_of_visit(limits, "b", 10, 99 * second), 10);
}

TEST(ClientLimits, AClientThatConnectsAgainHasTheTokensThatItHadLeft) {
    constexpr int64_t rate = 1'000'000;
    constexpr hrtime_t ms = 1'000'000;
    ClientLimits limits;
    limits.set(model::LimitSpec::parse("bps=1000000"), 0);
    EXPECT_EQ(tokens_of_visit(limits, "a", rate, 0), rate / 100);
    EXPECT_EQ(tokens_of_visit(limits, "b", 4096, 500 * ms), rate / 100);
    EXPECT_EQ(tokens_of_visit(limits, "a", 4096, 500 * ms), rate / 100 - rate / 2);
    EXPECT_EQ(tokens_of_visit(limits, "a", 4096, 1500 * ms), rate / 100);
    // New limits are new buckets.
    tokens_of_visit(limits, "a", rate, 2000 * ms);
    limits.set(model::LimitSpec::parse("bps=1000000"), 2001 * ms);
    EXPECT_EQ(tokens_of_visit(limits, "a", 4096, 2002 * ms), rate / 100);
}

// Of too many closed clients those are forgotten that would soon have full buckets.
TEST(ClientLimits, TheDeepestDebtsOfClosedClientsAreKept) {
    ClientLimits limits;
    limits.set(model::LimitSpec::parse("bps=1000000"), 0);
    tokens_of_visit(limits, "deep", 10'000'000, 0);
    for (size_t i = 0; i <= ClientLimits::kept_max; ++i) {
        tokens_of_visit(limits, std::to_string(i), 1'000'000 + i, 0);
    }
    EXPECT_LT(tokens_of_visit(limits, "deep", 1, 0), 0);
    EXPECT_GT(tokens_of_visit(limits, "0", 1, 0), 0);
}

// The bucket goes with its limits, and what lacked it until then stays counted.
TEST(ClientLimits, NewLimitsKeepTheTimeThatTheOldOnesTook) {
    constexpr hrtime_t second = 1'000'000'000;
    const Seqlock seq;
    const Subject subject;
    ClientStats stats(seq, subject, "client-limited");
    Client client;
    client.stats = &stats;
    ClientLimits limits;
    limits.set(model::LimitSpec::parse("bps=1000"), 0);
    limits.opened(client, 0);
    client.limits->begin(0);
    EXPECT_TRUE(client.limits->admit(Waiting(&client)));
    EXPECT_FALSE(client.limits->admit(Waiting(&client)));
    limits.set(model::LimitSpec::parse("bps=2000"), second / 4);
    EXPECT_EQ(stats.limited_ns(), uint64_t{second / 4});
}

/// Two clients of a device.
class DeviceClientLimits : public BehaviourTest {
  protected:
    void serve_both(const std::string& client_limits) {
        Behaviour behaviour;
        behaviour.client_limits = limits_of(client_limits);
        serve(std::move(behaviour));
        for (const char* key : {"a", "b"}) {
            clients_.push_back(&device_->first_lane().open_client({.key = key}, figures_));
        }
        ring_->unlock();
    }
    void TearDown() override {
        for (Client* client : clients_) device_->first_lane().close_client(*client, figures_);
        ring_->unlock();
        BehaviourTest::TearDown();
    }
    /// Sends a read of this client, or of none.
    TestBuf& send(Client* client) {
        TestBuf& buf = bufs_.emplace_back(Buf::Op::read);
        buf.data = memory_.data();
        buf.client = client;
        device_->strategy(buf);
        return buf;
    }
    void finish_all() {
        for (const TestBuf& buf : bufs_) finish(buf);
    }

    std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
    ConnectionFigures figures_;
    std::vector<Client*> clients_;
    std::deque<TestBuf> bufs_;
};

TEST_F(DeviceClientLimits, AClientWithoutTokensKeepsNoOtherClientOut) {
    serve_both("iops=20");
    for (int i = 0; i < 5; ++i) send(clients_[0]);
    TestBuf& other = send(clients_[1]);
    TestBuf& nobody = send(nullptr);
    settle();
    EXPECT_EQ(other.done, 1);
    EXPECT_EQ(nobody.done, 1);
    EXPECT_EQ(bufs_[4].done, 0);
    finish_all();
    EXPECT_GE(wait_ns(bufs_[4]), 100 * ms);  // two start at once, then one every 50 ms
    EXPECT_GE(numbers("nbd", "nbd0,client-1,info").at("limited_ns"), 10 * ms);
    EXPECT_EQ(numbers("nbd", "nbd0,client-2,info").at("limited_ns"), 0u);
}

TEST_F(DeviceClientLimits, BeginAndEndWhileRequestsWait) {
    serve_both("iops=1");
    EXPECT_FALSE(read_data("nbd", "nbd0,client-limits").empty());
    for (int i = 0; i < 4; ++i) send(clients_[0]);
    settle();
    EXPECT_EQ(bufs_[3].done, 0);
    device_->set_client_limits(std::nullopt);
    settle();
    EXPECT_EQ(bufs_[3].done, 1);
    EXPECT_TRUE(read_data("nbd", "nbd0,client-limits").empty());
    EXPECT_FALSE(device_->behaviour().client_limits);
    device_->set_client_limits(limits_of("iops=1000"));
    EXPECT_EQ(device_->behaviour().client_limits, limits_of("iops=1000"));
    send(clients_[1]);
    finish_all();
}

TEST_F(DeviceClientLimits, NoTokensAreWaitedForWithoutPower) {
    serve_both("iops=1");
    for (int i = 0; i < 4; ++i) send(clients_[0]);
    settle();
    EXPECT_EQ(bufs_[3].done, 0);
    device_->power_off();
    settle();
    EXPECT_EQ(bufs_[3].done, 1);
    device_->power_on();
    EXPECT_EQ(device_->behaviour().client_limits, limits_of("iops=1"));
}

}  // namespace
}  // namespace blkscope
