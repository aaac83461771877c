#include "blockdev/ring/busy_wait.hpp"

#include <gtest/gtest.h>

namespace blkscope {
namespace {

constexpr uint64_t short_ns = 10'000;
constexpr uint64_t long_ns = 10'000'000;

void sleep_for(BusyWait& wait, uint64_t ns, int times) {
    for (int i = 0; i < times; ++i) wait.slept(ns);
}

TEST(BusyWait, SleepsAtFirst) {
    EXPECT_FALSE(BusyWait().pays());
}

TEST(BusyWait, LooksOutAfterManyShortWaits) {
    BusyWait wait;
    sleep_for(wait, short_ns, 100);
    EXPECT_TRUE(wait.pays());
}

TEST(BusyWait, PaysFromTheSixteenthShortWaitOn) {
    BusyWait wait;
    sleep_for(wait, short_ns, 15);
    EXPECT_FALSE(wait.pays());
    sleep_for(wait, short_ns, 1);
    EXPECT_TRUE(wait.pays());
}

TEST(BusyWait, AFewShortWaitsSayNothing) {
    BusyWait wait;
    sleep_for(wait, short_ns, 3);
    EXPECT_FALSE(wait.pays());
}

TEST(BusyWait, LooksInVainAFewTimesAndThenSleeps) {
    BusyWait wait;
    sleep_for(wait, short_ns, 1000);
    int looks = 0;
    for (; wait.pays() && looks < 100; ++looks) wait.spun(BusyWait::spin_ns_max, false);
    EXPECT_LE(looks, 5);
}

TEST(BusyWait, GoesOnWhileMostLooksFindSomething) {
    BusyWait wait;
    sleep_for(wait, short_ns, 100);
    for (int i = 0; i < 1000; ++i) {
        wait.spun(short_ns, i % 20 != 0);
        EXPECT_TRUE(wait.pays());
    }
}

TEST(BusyWait, NeverBeginsWhereWaitsAreLong) {
    BusyWait wait;
    for (int i = 0; i < 1000; ++i) {
        wait.slept(i % 2 == 0 ? long_ns : short_ns);
        EXPECT_FALSE(wait.pays());
    }
}

// After a day without requests, a worker spins again within a short time.
TEST(BusyWait, ForgetsLongWaits) {
    BusyWait wait;
    sleep_for(wait, long_ns, 100'000);
    sleep_for(wait, short_ns, 100);
    EXPECT_TRUE(wait.pays());
}

TEST(BusyWait, StopsForLongWhereOthersTakeTheProcessor) {
    BusyWait wait;
    sleep_for(wait, short_ns, 100);
    wait.spun(3'000'000, true);
    sleep_for(wait, short_ns, 150);
    EXPECT_FALSE(wait.pays());
    sleep_for(wait, short_ns, 1000);
    EXPECT_TRUE(wait.pays());
}

}  // namespace
}  // namespace blkscope
