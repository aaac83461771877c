#include <gtest/gtest.h>

#include <deque>
#include <kstat/queues.hpp>
#include <random>

namespace blkscope {

namespace {

// Two requests, 150 at length 1, 150 at length 2, 600 at length 1: worked out by hand.
TEST(KstatQueues, ChargeEachIntervalAtTheLengthThatHeldDuringIt) {
    kstat_io_t io{};
    kstat::waitq_enter(io, 100);
    kstat::waitq_enter(io, 250);
    kstat::waitq_exit(io, 400);
    kstat::waitq_exit(io, 1000);
    EXPECT_EQ(io.wtime, 900);
    EXPECT_EQ(io.wlentime, 150 * 1 + 150 * 2 + 600 * 1);
    EXPECT_EQ(io.wlastupdate, 1000);
    EXPECT_EQ(io.wcnt, 0u);
    EXPECT_EQ(io.rtime, 0);
}

TEST(KstatQueues, AMoveBetweenTheQueuesLosesNoTimeAndCountsNoneTwice) {
    kstat_io_t io{};
    kstat::waitq_enter(io, 100);
    kstat::waitq_enter(io, 250);
    kstat::waitq_to_runq(io, 400);
    kstat::waitq_exit(io, 700);
    kstat::runq_exit(io, 1000);
    EXPECT_EQ(io.wtime, 600);
    EXPECT_EQ(io.wlentime, 750);
    EXPECT_EQ(io.rtime, 600);
    EXPECT_EQ(io.rlentime, 600);
    EXPECT_EQ(io.rlastupdate, 1000);
}

TEST(KstatQueues, ARequestTakenBackWaitsAgainFromThatMoment) {
    kstat_io_t io{};
    kstat::runq_enter(io, 10);
    kstat::runq_back_to_waitq(io, 30);
    kstat::waitq_exit(io, 70);
    EXPECT_EQ(io.rlentime, 20);
    EXPECT_EQ(io.wlentime, 40);
    EXPECT_EQ(io.wcnt + io.rcnt, 0u);
}

TEST(KstatQueues, TheFirstEntryOfAnIdleQueueChargesNothing) {
    kstat_io_t io{};
    kstat::runq_enter(io, 1'000'000);
    EXPECT_EQ(io.rtime, 0);
    EXPECT_EQ(io.rlentime, 0);
    EXPECT_EQ(io.rlastupdate, 1'000'000);
}

TEST(KstatQueues, TransitionsLeaveTheOperationCountersAlone) {
    kstat_io_t io{};
    kstat::waitq_enter(io, 1);
    kstat::waitq_to_runq(io, 2);
    kstat::runq_exit(io, 3);
    EXPECT_EQ(io.reads + io.writes, 0u);
    EXPECT_EQ(io.nread + io.nwritten, 0u);
}

// Whatever the order of comings and goings, rlentime is the sum of every request's stay.
TEST(KstatQueues, RunLengthTimeIsTheSumOfTheStays) {
    std::mt19937 random(20260721);  // a fixed seed: a failure can be run again
    std::uniform_int_distribution<hrtime_t> gap(0, 49);
    kstat_io_t io{};
    std::deque<hrtime_t> entered;
    hrtime_t now = 0;
    hrtime_t stays = 0;
    for (int i = 0; i < 10'000; ++i) {
        now += gap(random);
        if (entered.empty() || random() % 2 == 0) {
            kstat::runq_enter(io, now);
            entered.push_back(now);
        } else {
            kstat::runq_exit(io, now);
            stays += now - entered.front();
            entered.pop_front();
        }
    }
    for (const hrtime_t since : entered) stays += io.rlastupdate - since;
    EXPECT_EQ(io.rlentime, stays);
    EXPECT_LE(io.rtime, now);
    EXPECT_LE(io.rtime, io.rlentime);
}

TEST(KstatQueues, TheCFunctionsReadTheClockOncePerMove) {
    kstat_io_t io{};
    kstat_waitq_enter(&io);
    kstat_waitq_to_runq(&io);
    EXPECT_EQ(io.wlastupdate, io.rlastupdate);
    kstat_runq_back_to_waitq(&io);
    EXPECT_EQ(io.wlastupdate, io.rlastupdate);
    EXPECT_EQ(io.wcnt, 1u);
    kstat_waitq_exit(&io);
    kstat_runq_enter(&io);
    kstat_runq_exit(&io);
    EXPECT_EQ(io.wcnt + io.rcnt, 0u);
    EXPECT_GE(io.rtime, 0);
}

TEST(KstatQueuesDeathTest, LeavingAnEmptyQueueAborts) {
    kstat_io_t io{};
    EXPECT_DEATH(kstat::runq_exit(io, 1), "length > 0");
}

}  // namespace

}  // namespace blkscope
