#include "simulated_clock.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <string>
#include <utility>

#include "blockdev/ring/kernel.hpp"

namespace blkscope::simulation {
namespace {

constexpr hrtime_t billion = 1'000'000'000;
constexpr hrtime_t bracket_ns = 60;  // the accuracy of a comparison with CLOCK_MONOTONIC
// A worker compares after a sleep, and its longest sleep is its tick of a second.
constexpr hrtime_t compared_each_ns = 2 * billion;
constexpr uint64_t skewed_each = 4;  // one life in so many
constexpr uint64_t stepped_each = 6;
constexpr uint64_t readings_max = 24;  // of some turns

}  // namespace

hrtime_t ClockPlan::wrong_ns_max() const {
    if (is_true()) return 0;
    hrtime_t all =
        2 * skew_ns_max + std::abs(drift_ppb) * (compared_each_ns / billion) + bracket_ns;
    if (!steps.empty()) all += trusted_pause_ns;
    for (const Step& step : steps) all += std::min(std::abs(step.ns), trusted_pause_ns);
    return all;
}

std::string ClockPlan::text() const {
    std::string text;
    if (skew_ns_max > 0) text += ", clocks " + std::to_string(skew_ns_max) + " ns apart";
    for (const Step& step : steps) {
        text += ", clock steps by " + std::to_string(step.ns / 1'000'000) + " ms";
    }
    return text;
}

// A step is short, or long, or back to a counter of 0 as after a boot.
ClockPlan draw_clocks(Random random, hrtime_t now, hrtime_t ns) {
    static constexpr hrtime_t skews[] = {40, 400, 3'000, 20'000};
    static constexpr hrtime_t sizes[] = {50'000, 2'000'000, 60'000'000, 8 * billion,
                                         4000 * billion};
    ClockPlan plan;
    if (random.one_in(skewed_each)) {
        plan.skew_ns_max = skews[random.below(4)];
        plan.drift_ppb = static_cast<int64_t>(random.below(40'000)) - 20'000;
    }
    if (!random.one_in(stepped_each)) return plan;
    for (uint64_t i = random.between(1, 3); i > 0; --i) {
        // Most lives are short.
        const uint64_t latest = static_cast<uint64_t>(ns) >> random.below(6);
        const hrtime_t when = now + static_cast<hrtime_t>(random.between(1, latest));
        const hrtime_t size = sizes[random.below(5)] / static_cast<hrtime_t>(random.between(1, 8));
        plan.steps.push_back({when, random.one_in(2) ? size : -size, random.below(readings_max)});
    }
    std::ranges::sort(plan.steps, {}, &ClockPlan::Step::when);
    return plan;
}

// Between the two bounds in some milliseconds, and back.
hrtime_t SimulatedClock::skew(hrtime_t true_now) const {
    if (plan_.skew_ns_max == 0) return 0;
    Random own(seed_, processor_);
    const auto period = static_cast<hrtime_t>(own.between(1'000'000, 100'000'000));
    const auto phase = (true_now + static_cast<hrtime_t>(own.below(100'000'000))) % period;
    const hrtime_t half = period / 2;
    const hrtime_t up = phase < half ? phase : period - phase;
    return plan_.skew_ns_max * (2 * up - half) / half;
}

void SimulatedClock::step(hrtime_t true_now) {
    while (!plan_.steps.empty() && plan_.steps.front().when <= true_now) {
        if (plan_.steps.front().readings-- > 0) break;
        jumped_ += plan_.steps.front().ns;
        plan_.steps.erase(plan_.steps.begin());
    }
}

hrtime_t SimulatedClock::read(hrtime_t true_now) {
    if (plan_.is_true()) return true_now;
    if (!std::exchange(just_corrected_, false)) step(true_now);
    return true_now + skew(true_now) + true_now * plan_.drift_ppb / billion + jumped_ - origin_;
}

void SimulatedClock::correct(hrtime_t true_now) {
    const hrtime_t ahead = read(true_now) - true_now;
    if (std::abs(ahead) > bracket_ns) origin_ += ahead;
    just_corrected_ = true;  // nothing can help whose counter steps before the next instruction
}

}  // namespace blkscope::simulation
