// Alarms of a ring: they end its sleep, and their moments hold.
#include "blockdev/ring/alarm.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {
namespace {

constexpr hrtime_t ms = 1'000'000;

class AlarmTest : public ::testing::TestWithParam<bool> {
  protected:
    struct Noted final : Alarm {
        void due() override { moments.push_back(now_ns()); }
        std::vector<hrtime_t> moments;
    };

    void SetUp() override { ring_.enable(); }

    /// Sets the alarm, and returns its moment in nanoseconds.
    hrtime_t set(Noted& alarm, hrtime_t ns) {
        const hrtime_t when = now_ns() + ns;
        ring_.set_alarm(alarm, to_ticks(when), GetParam());
        return when;
    }
    void turn() {
        ring_.wait();
        ring_.dispatch();
    }

    Ring ring_{16};
    Noted first_;
    Noted second_;
};

TEST_P(AlarmTest, TheSleepEndsAtTheMoment) {
    const hrtime_t when = set(first_, 5 * ms);
    int turns = 0;
    for (; first_.moments.empty(); ++turns) turn();
    EXPECT_GE(first_.moments[0], when);
    EXPECT_LE(turns, 3);  // the worker slept
    EXPECT_EQ(first_.when(), Alarm::never);
}

TEST_P(AlarmTest, TheEarliestIsFirst) {
    set(second_, 500 * ms);
    set(first_, 4 * ms);
    while (first_.moments.empty()) turn();
    EXPECT_TRUE(second_.moments.empty());
    while (second_.moments.empty()) turn();
    EXPECT_EQ(first_.moments.size(), 1u);
}

TEST_P(AlarmTest, AnotherMomentReplacesTheFirst) {
    set(first_, 2 * ms);
    const hrtime_t when = set(first_, 6 * ms);
    while (first_.moments.empty()) turn();
    EXPECT_GE(first_.moments[0], when);
    EXPECT_EQ(first_.moments.size(), 1u);
}

TEST_P(AlarmTest, AnAlarmThatIsUnsetIsNotCalled) {
    set(first_, 1 * ms);
    set(second_, 3 * ms);
    ring_.set_alarm(first_, Alarm::never, false);
    while (second_.moments.empty()) turn();
    EXPECT_TRUE(first_.moments.empty());
}

TEST_P(AlarmTest, AnAlarmThatIsDestroyedIsNotCalled) {
    {
        Noted destroyed;
        set(destroyed, 1 * ms);
    }
    set(first_, 3 * ms);
    while (first_.moments.empty()) turn();
}

TEST_P(AlarmTest, ACompletionEndsTheSleepBefore) {
    struct Ended final : Completion {
        void complete(int32_t) override { ended = true; }
        bool ended = false;
    } nop;
    set(first_, 10'000 * ms);
    ring_.prepare(nop, [](io_uring_sqe* entry) { io_uring_prep_nop(entry); });
    while (!nop.ended) turn();
    EXPECT_TRUE(first_.moments.empty());
}

INSTANTIATE_TEST_SUITE_P(Precise, AlarmTest, ::testing::Bool());

}  // namespace
}  // namespace blkscope
