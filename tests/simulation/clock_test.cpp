// The simulated clocks, and what a ring makes of one that has stepped.
#include <gtest/gtest.h>

#include <cstdlib>

#include "blockdev/ring/ring.hpp"
#include "simulated_kernel.hpp"

namespace blkscope::simulation {
namespace {

constexpr hrtime_t second = 1'000'000'000;
constexpr hrtime_t reading_ns_max = 1'000;  // of the time that readings take

ClockPlan step_at_once(hrtime_t ns) {
    ClockPlan plan;
    plan.steps.push_back({.when = 0, .ns = ns, .readings = 1});
    return plan;
}

TEST(SimulatedClock, IsTrueWithoutAPlan) {
    SimulatedClock clock;
    EXPECT_EQ(clock.read(12'345), 12'345);
}

TEST(SimulatedClock, ProcessorsDifferByTheirSkewAtMost) {
    SimulatedClock clock;
    ClockPlan plan;
    plan.skew_ns_max = 500;
    clock.set_plan(plan, 7);
    hrtime_t most = 0;
    for (hrtime_t now = 1; now < second; now += 1'000'003) {
        const SimulatedClock::Running other(clock, 2);
        const hrtime_t skew = std::abs(clock.read(now) - now);
        EXPECT_LE(skew, plan.skew_ns_max);
        most = std::max(most, skew);
    }
    EXPECT_GT(most, plan.skew_ns_max / 2);
}

TEST(SimulatedClock, IsTrueAgainWhenItIsCorrected) {
    SimulatedClock clock;
    clock.set_plan(step_at_once(-8 * second), 1);
    EXPECT_EQ(clock.read(10 * second), 10 * second);  // before the step
    EXPECT_EQ(clock.read(10 * second), 2 * second);
    clock.correct(10 * second);
    EXPECT_EQ(clock.read(10 * second), 10 * second);
}

TEST(RingClock, ReadsTheTrueTimeAfterAStepWithinATurn) {
    for (const hrtime_t step : {-8 * second, 8 * second}) {
        Timeline timeline;
        SimulatedKernel kernel(timeline, 1);
        Ring ring(16, false, kernel);
        ring.enable();
        kernel.clock.set_plan(step_at_once(step), 1);
        const hrtime_t before = ring.now();
        const hrtime_t after = ring.now();  // the counter has stepped
        EXPECT_GT(after, before) << step;
        EXPECT_LT(after - before, reading_ns_max) << step;
    }
}

}  // namespace
}  // namespace blkscope::simulation
