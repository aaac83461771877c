#include "driver/nbd/client/upstream_order.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace blkscope::nbd {
namespace {

constexpr int64_t settle = 1000;

UpstreamWrite write_at(uint64_t offset, uint64_t bytes) {
    return {{offset, bytes}};
}

TEST(UpstreamOrder, AWriteWaitsForAnEarlierOneThatOverlaps) {
    UpstreamOrder order(settle);
    UpstreamWrite first = write_at(0, 4096);
    UpstreamWrite overlapping = write_at(4095, 10);
    UpstreamWrite behind = write_at(4105, 10);
    order.enter(first);
    order.enter(overlapping);
    order.enter(behind);
    EXPECT_TRUE(order.may_go(first, 0));
    EXPECT_FALSE(order.may_go(overlapping, 0));
    EXPECT_TRUE(order.may_go(behind, 0));
    order.leave(first);
    EXPECT_TRUE(order.may_go(overlapping, 0));
}

// The later write would else overtake the one that waits, again and again.
TEST(UpstreamOrder, AWriteWaitsForAnEarlierOneThatWaitsItself) {
    UpstreamOrder order(settle);
    UpstreamWrite first = write_at(0, 10);
    UpstreamWrite second = write_at(5, 10);
    UpstreamWrite third = write_at(12, 10);
    for (UpstreamWrite* write : {&first, &second, &third}) order.enter(*write);
    EXPECT_FALSE(order.may_go(third, 0));
}

TEST(UpstreamOrder, AReadWaitsForNoWriteWithoutALoss) {
    UpstreamOrder order(settle);
    UpstreamWrite write = write_at(0, 4096);
    order.enter(write);
    EXPECT_TRUE(order.may_read({0, 4096}, 0));
}

TEST(UpstreamOrder, NothingGoesBetweenALossAndTheNextConnection) {
    UpstreamOrder order(settle);
    UpstreamWrite write = write_at(0, 10);
    order.enter(write);
    order.lost(5);
    UpstreamOrder::resent(write);
    EXPECT_FALSE(order.may_read({0, 10}, 1'000'000));
}

TEST(UpstreamOrder, AReadWaitsForAResentWriteOrUntilTheConnectionIsSettled) {
    UpstreamOrder order(settle);
    UpstreamWrite write = write_at(0, 4096);
    order.enter(write);
    order.lost(5);
    UpstreamOrder::resent(write);
    order.connected(10);
    EXPECT_TRUE(order.may_go(write, 10));
    EXPECT_FALSE(order.may_read({4000, 10}, 10));
    EXPECT_TRUE(order.may_read({4096, 10}, 10));
    EXPECT_TRUE(order.may_read({4000, 10}, 10 + settle));
    order.leave(write);
    EXPECT_TRUE(order.may_read({4000, 10}, 10));
}

// The server may still run the old copy of the write, after its resend and any newer write.
TEST(UpstreamOrder, ANewerWriteWaitsForAnAnsweredResendUntilTheConnectionIsSettled) {
    UpstreamOrder order(settle);
    UpstreamWrite write = write_at(0, 4096);
    UpstreamWrite newer = write_at(512, 512);
    order.enter(write);
    order.lost(5);
    UpstreamOrder::resent(write);
    order.connected(10);
    order.leave(write);
    order.enter(newer);
    EXPECT_TRUE(order.may_read({512, 512}, 11));
    EXPECT_FALSE(order.may_go(newer, 9 + settle));
    EXPECT_TRUE(order.may_go(newer, 10 + settle));
}

TEST(UpstreamOrder, AWriteThatWasNotSentAgainKeepsNobodyWaiting) {
    UpstreamOrder order(settle);
    UpstreamWrite write = write_at(0, 4096);
    UpstreamWrite newer = write_at(0, 512);
    order.lost(5);
    order.connected(10);
    order.enter(write);
    order.leave(write);
    order.enter(newer);
    EXPECT_TRUE(order.may_go(newer, 11));
}

TEST(UpstreamOrder, NothingOverlapsAFailedWriteUntilTheConnectionIsSettled) {
    UpstreamOrder order(settle);
    UpstreamWrite failed = write_at(0, 4096);
    UpstreamWrite newer = write_at(0, 512);
    order.enter(failed);
    order.enter(newer);
    order.lost(5);
    order.give_up(failed);
    order.connected(10);
    EXPECT_FALSE(order.may_go(newer, 9 + settle));
    EXPECT_FALSE(order.may_read({0, 1}, 9 + settle));
    EXPECT_TRUE(order.may_read({4096, 1}, 10));
    EXPECT_TRUE(order.may_go(newer, 10 + settle));
}

TEST(UpstreamOrder, ASecondLossStartsTheTimeAgainUnlessItWasOver) {
    UpstreamOrder order(settle);
    UpstreamWrite failed = write_at(0, 10);
    order.enter(failed);
    order.lost(0);
    order.give_up(failed);
    order.connected(10);
    order.lost(20);
    order.connected(30);
    EXPECT_FALSE(order.may_read({0, 10}, 20 + settle));
    order.lost(30 + settle);
    order.connected(40 + settle);
    EXPECT_TRUE(order.may_read({0, 10}, 40 + settle));
}

TEST(UpstreamOrder, TooManyFailedWritesAreTakenForTheWholeDevice) {
    UpstreamOrder order(settle);
    order.lost(0);
    for (size_t i = 0; i <= UpstreamOrder::old_max; ++i) {
        UpstreamWrite write = write_at(10 * i, 10);
        order.enter(write);
        order.give_up(write);
    }
    order.connected(10);
    EXPECT_FALSE(order.may_read({uint64_t{1} << 40, 1}, 10));
    EXPECT_TRUE(order.may_read({uint64_t{1} << 40, 1}, 10 + settle));
}

// No two writes that overlap are with the server, and all come to their turn.
TEST(UpstreamOrder, WritesThatOverlapAreNeverWithTheServerTogether) {
    std::mt19937 random(20261123);
    UpstreamOrder order(settle);
    std::deque<UpstreamWrite> writes;
    std::vector<UpstreamWrite*> waiting;
    std::vector<UpstreamWrite*> running;
    for (int step = 0; step < 5000 || !waiting.empty() || !running.empty(); ++step) {
        if (step < 5000 && waiting.size() < 50 && random() % 2 == 0) {
            writes.push_back(write_at(random() % 64, 1 + random() % 16));
            order.enter(writes.back());
            waiting.push_back(&writes.back());
        }
        std::erase_if(waiting, [&](UpstreamWrite* write) {
            if (!order.may_go(*write, step)) return false;
            for (const UpstreamWrite* other : running) EXPECT_FALSE(other->overlaps(*write));
            running.push_back(write);
            return true;
        });
        if (running.empty()) continue;
        const size_t ends = random() % running.size();
        order.leave(*running[ends]);
        running.erase(running.begin() + static_cast<ptrdiff_t>(ends));
    }
    EXPECT_GT(writes.size(), 2000u);
}

}  // namespace
}  // namespace blkscope::nbd
