#include "base/clock.hpp"

#include <gtest/gtest.h>
#include <sys/kstat.h>

#include <cstdlib>

namespace blkscope {

namespace {

TEST(KstatClock, ScalesToTheMonotonicClock) {
    calibrate_clock();
    const hrtime_t before = gethrtime();
    const hrtime_t between = now_ns();
    const hrtime_t after = gethrtime();
    // The measurement misses a few parts per million, and this ran some milliseconds after it.
    EXPECT_GT(between, before - 100'000);
    EXPECT_LT(between, after + 100'000);
}

TEST(KstatClock, MeasuresAnIntervalAsTheMonotonicClockDoes) {
    calibrate_clock();
    const hrtime_t start_ns = gethrtime();
    const hrtime_t start = now_unscaled();
    while (gethrtime() - start_ns < 20'000'000) continue;
    const hrtime_t ns = to_ns(now_unscaled()) - to_ns(start);
    const hrtime_t expected = gethrtime() - start_ns;
    EXPECT_NEAR(static_cast<double>(ns), static_cast<double>(expected), 2e6);
}

// What a resume does to the counter; the origin moves by as much the other way.
void step_counter(hrtime_t ns) {
    calibrate_clock();
    detail::hot_clock.origin -= static_cast<uint64_t>(to_ticks(ns));
}

TEST(KstatClock, FollowsTheMonotonicClockAfterAStepOfTheCounter) {
    for (const hrtime_t step : {-8'000'000'000, 8'000'000'000}) {
        calibrate_clock();
        if (!detail::hot_clock.counting)
            GTEST_SKIP() << "SKIPPED: the processor's counter is not the clock";
        correct_clock();
        const uint64_t steps = clock_steps();
        step_counter(step);
        EXPECT_GT(std::abs(now_ns() - gethrtime()), 4'000'000'000);
        correct_clock();
        EXPECT_EQ(clock_steps(), steps + 1);
        const hrtime_t before = gethrtime();
        const hrtime_t between = now_ns();
        EXPECT_GT(between, before - 100'000);
        EXPECT_LT(between, gethrtime() + 100'000);
    }
}

TEST(KstatClock, DriftIsCorrectedAndIsNoStep) {
    calibrate_clock();
    if (!detail::hot_clock.counting)
        GTEST_SKIP() << "SKIPPED: the processor's counter is not the clock";
    correct_clock();
    const uint64_t steps = clock_steps();
    step_counter(300'000);
    correct_clock();
    EXPECT_EQ(clock_steps(), steps);
    EXPECT_LT(now_ns(), gethrtime() + 100'000);
}

TEST(KstatClock, NeverRunsBackwardsOnOneThread) {
    hrtime_t last = gethrtime_unscaled();
    for (int i = 0; i < 100'000; ++i) {
        const hrtime_t now = gethrtime_unscaled();
        ASSERT_GE(now, last);
        last = now;
    }
}

TEST(KstatClock, ScalingKeepsTheOrderAndIsTheSameInBothLanguages) {
    const hrtime_t ticks = gethrtime_unscaled();
    EXPECT_LE(to_ns(ticks), to_ns(ticks + 1));
    hrtime_t scaled = ticks;
    scalehrtime(&scaled);
    EXPECT_EQ(scaled, to_ns(ticks));
    EXPECT_EQ(to_ns(0), 0);
}

TEST(KstatClock, NanosecondsBecomeTicksAndTheSameNanosecondsAgain) {
    for (const hrtime_t ns : {0LL, 1LL, 999'999'999LL, 123'456'789'012'345LL}) {
        EXPECT_EQ(to_ns(to_ticks(ns)), ns);
    }
}

TEST(KstatClock, ScalesSumsFarBeyondWhat64BitsOfProductHold) {
    const hrtime_t century = 100LL * 365 * 86'400 * 1'000'000'000;
    const hrtime_t whole = to_ns(century);
    // Whole numbers: a double of this size is exact to 256 ns only.
    EXPECT_LE(std::abs(whole - 2 * to_ns(century / 2)), 2);
}

}  // namespace

}  // namespace blkscope
