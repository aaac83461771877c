#include "kstat/registry/queues.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <random>
#include <vector>

#include "base/clock.hpp"
#include "kstat/registry/snapshot.hpp"

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

// A writable kstat's times may be any numbers; the sanitizers find an overflow.
TEST(KstatQueues, SumsWrap) {
    constexpr hrtime_t last = std::numeric_limits<hrtime_t>::max();
    kstat_io_t io{};
    io.wcnt = 0x7fffffff;
    io.wtime = io.wlentime = last;
    io.wlastupdate = -last;
    kstat::waitq_exit(io, last);
    EXPECT_EQ(io.wcnt, 0x7ffffffeu);
    EXPECT_EQ(io.wtime, last - 2);  // last - -last is -2
}

TEST(KstatQueues, TransitionsLeaveTheOperationCountersAlone) {
    kstat_io_t io{};
    kstat::waitq_enter(io, 1);
    kstat::waitq_to_runq(io, 2);
    kstat::runq_exit(io, 3);
    EXPECT_EQ(io.reads + io.writes, 0u);
    EXPECT_EQ(io.nread + io.nwritten, 0u);
}

// In any order of entries and exits, rlentime is the sum of every request's stay.
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

// The meaning of the counters, computed slowly: every stay in a queue is an interval. The counters
// are sums over all intervals.
class Stays {
  public:
    void enter(hrtime_t now) {
        open_.push_back(now);
        last_change_ = now;
    }
    /// Ends a stay, of any of those inside: which one makes no difference to the sums.
    void leave(hrtime_t now, size_t which) {
        closed_.push_back({open_[which], now});
        open_.erase(open_.begin() + static_cast<ptrdiff_t>(which));
        last_change_ = now;
    }
    size_t length() const { return open_.size(); }
    hrtime_t last_change() const { return last_change_; }

    hrtime_t length_time(hrtime_t until) const {
        hrtime_t sum = 0;
        for (const Interval& stay : all(until)) sum += stay.end - stay.start;
        return sum;
    }
    /// The length of the intervals' union.
    hrtime_t busy_time(hrtime_t until) const {
        auto stays = all(until);
        std::sort(stays.begin(), stays.end(),
                  [](const Interval& a, const Interval& b) { return a.start < b.start; });
        hrtime_t sum = 0;
        hrtime_t covered = std::numeric_limits<hrtime_t>::min();
        for (const Interval& stay : stays) {
            const hrtime_t from = std::max(stay.start, covered);
            if (stay.end <= from) continue;
            sum += stay.end - from;
            covered = stay.end;
        }
        return sum;
    }

  private:
    struct Interval {
        hrtime_t start;
        hrtime_t end;
    };
    std::vector<Interval> all(hrtime_t until) const {
        auto stays = closed_;
        for (const hrtime_t since : open_) stays.push_back({since, until});
        return stays;
    }

    std::vector<Interval> closed_;
    std::vector<hrtime_t> open_;
    hrtime_t last_change_ = 0;
};

// A snapshot's times are those of the model up to now, in nanoseconds; an idle queue keeps its last
// change.
void expect_snapshot(const kstat_io_t& live, const Stays& wait, const Stays& run, hrtime_t now) {
    const kstat_io_t io = kstat::io_snapshot(live, now);
    EXPECT_EQ(io.wcnt, wait.length());
    EXPECT_EQ(io.rcnt, run.length());
    EXPECT_EQ(io.wtime, to_ns(wait.busy_time(now)));
    EXPECT_EQ(io.rtime, to_ns(run.busy_time(now)));
    EXPECT_EQ(io.wlentime, to_ns(wait.length_time(now)));
    EXPECT_EQ(io.rlentime, to_ns(run.length_time(now)));
    EXPECT_EQ(io.wlastupdate, to_ns(wait.length() > 0 ? now : wait.last_change()));
    EXPECT_EQ(io.rlastupdate, to_ns(run.length() > 0 ? now : run.last_change()));
}

TEST(KstatQueues, AnySequenceOfTransitionsIsWorthItsStays) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        kstat_io_t io{};
        Stays wait;
        Stays run;
        hrtime_t now = 1'000'000;
        const auto any_of = [&random](const Stays& stays) { return random() % stays.length(); };
        for (int step = 0; step < 400; ++step) {
            now += static_cast<hrtime_t>(random() % 5'000'000);
            switch (random() % 7) {
                case 0:
                    kstat::waitq_enter(io, now);
                    wait.enter(now);
                    break;
                case 1:
                    kstat::runq_enter(io, now);
                    run.enter(now);
                    break;
                case 2:
                    if (wait.length() == 0) break;
                    kstat::waitq_exit(io, now);
                    wait.leave(now, any_of(wait));
                    break;
                case 3:
                    if (run.length() == 0) break;
                    kstat::runq_exit(io, now);
                    run.leave(now, any_of(run));
                    break;
                case 4:
                    if (wait.length() == 0) break;
                    kstat::waitq_to_runq(io, now);
                    wait.leave(now, any_of(wait));
                    run.enter(now);
                    break;
                case 5:
                    if (run.length() == 0) break;
                    kstat::runq_back_to_waitq(io, now);
                    run.leave(now, any_of(run));
                    wait.enter(now);
                    break;
                default:
                    expect_snapshot(io, wait, run, now);
            }
        }
        expect_snapshot(io, wait, run, now + 77);
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
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
