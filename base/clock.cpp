#include "base/clock.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "base/log_line.hpp"
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace blkscope {
namespace detail {
constinit HotClock hot_clock;
}

namespace {

using detail::scale_shift;

__extension__ using Wide = __int128;

constexpr auto calibration_time = std::chrono::milliseconds(20);
constexpr int brackets_per_end = 200;
constexpr int brackets_per_comparison = 3;

// A smaller difference is drift: NTP slews by 500 parts per million at most.
constexpr hrtime_t step_ns_min = 1'000'000;
constexpr hrtime_t ns_per_ns_of_drift = 1000;

// One moment seen on both clocks. `width_ns` is the time between the two readings of
// CLOCK_MONOTONIC.
struct Moment {
    uint64_t counter;
    hrtime_t ns;
    hrtime_t width_ns;
};

Moment bracket() {
    const hrtime_t before = monotonic_ns();
    const uint64_t counter = detail::read_counter();
    const hrtime_t after = monotonic_ns();
    return {counter, before + (after - before) / 2, after - before};
}

// The tightest of many brackets: an interrupt between the readings widens one, not all.
Moment tightest_bracket(int brackets) {
    Moment best = bracket();
    for (int i = 1; i < brackets; ++i) {
        const Moment next = bracket();
        if (next.width_ns < best.width_ns) best = next;
    }
    return best;
}

#if defined(__x86_64__) || defined(__i386__)
// The invariance that the processor reports is not enough. The kernel also watches for sockets that
// disagree and firmware that writes the TSC. If the kernel sees either, the TSC is no longer its
// clock source.
bool counter_is_usable() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    constexpr unsigned power_management_leaf = 0x80000007;
    constexpr unsigned invariant_tsc = 1U << 8;
    if (__get_cpuid(power_management_leaf, &eax, &ebx, &ecx, &edx) == 0) return false;
    if ((edx & invariant_tsc) == 0) return false;

    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string source;
    file >> source;
    static constexpr std::array<const char*, 3> by_tsc{"tsc", "kvm-clock",
                                                       "hyperv_clocksource_tsc_page"};
    return std::find(by_tsc.begin(), by_tsc.end(), source) != by_tsc.end();
}
#elif defined(__aarch64__)
bool counter_is_usable() {
    return true;
}
#else
bool counter_is_usable() {
    return false;
}
#endif

std::mutex correcting;
hrtime_t compared_ns = 0;  // the last comparison; under the mutex
std::atomic<uint64_t> steps{0};

void measure() {
    if (!counter_is_usable()) return;
    const Moment first = tightest_bracket(brackets_per_end);
    std::this_thread::sleep_for(calibration_time);
    const Moment second = tightest_bracket(brackets_per_end);
    if (second.counter <= first.counter || second.ns <= first.ns) return;

    const Wide ns = second.ns - first.ns;
    const Wide ticks = static_cast<Wide>(second.counter - first.counter);
    const Wide scale = (ns << scale_shift) / ticks;
    const Wide ticks_since_origin = (static_cast<Wide>(second.ns) << scale_shift) / scale;
    detail::hot_clock.multiplier = static_cast<uint64_t>(scale);
    detail::hot_clock.origin = second.counter - static_cast<uint64_t>(ticks_since_origin);
    compared_ns = second.ns;
    detail::hot_clock.counting.store(true, std::memory_order_release);
}

// Nanoseconds per tick, times 2^scale_shift.
Wide multiplier() {
    if (!detail::hot_clock.counting.load(std::memory_order_acquire)) return Wide{1} << scale_shift;
    return static_cast<Wide>(detail::hot_clock.multiplier);
}

// Returns by how much the counter has stepped; 0 for mere drift.
hrtime_t move_origin() {
    const std::lock_guard lock(correcting);
    const Moment moment = tightest_bracket(brackets_per_comparison);
    const uint64_t origin = detail::hot_clock.origin.load(std::memory_order_relaxed);
    const hrtime_t ahead_ns = to_ns(static_cast<hrtime_t>(moment.counter - origin)) - moment.ns;
    const hrtime_t since_ns = moment.ns - compared_ns;
    compared_ns = moment.ns;
    const hrtime_t size_ns = std::abs(ahead_ns);
    if (size_ns <= moment.width_ns) return 0;
    detail::hot_clock.origin.store(origin + static_cast<uint64_t>(to_ticks(ahead_ns)),
                                   std::memory_order_relaxed);
    const hrtime_t drift_ns_max = step_ns_min + since_ns / ns_per_ns_of_drift;
    return size_ns - moment.width_ns < drift_ns_max ? 0 : ahead_ns;
}

}  // namespace

void calibrate_clock() {
    static std::once_flag once;
    std::call_once(once, measure);
}

void correct_clock() {
    if (!detail::hot_clock.counting.load(std::memory_order_acquire)) return;
    const hrtime_t step_ns = move_origin();
    if (step_ns == 0) return;
    const uint64_t count = steps.fetch_add(1, std::memory_order_relaxed) + 1;
    if (!std::has_single_bit(count)) return;  // a broken counter must not fill the log
    log_line("the processor's counter has stepped by ", std::to_string(step_ns / 1'000'000),
             " ms, as after a resume or a migration (steps so far: ", std::to_string(count),
             "); the clock follows CLOCK_MONOTONIC again");
}

uint64_t clock_steps() {
    return steps.load(std::memory_order_relaxed);
}

TickScale::TickScale() : multiplier_(static_cast<uint64_t>(multiplier())) {}

hrtime_t to_ns(hrtime_t ticks) {
    const Wide scaled = static_cast<Wide>(ticks) * multiplier();
    return static_cast<hrtime_t>(scaled >> scale_shift);
}

hrtime_t to_ticks(hrtime_t ns) {
    const Wide scaled = static_cast<Wide>(ns) << scale_shift;
    const Wide ticks = scaled / multiplier();  // rounded towards 0
    return static_cast<hrtime_t>(scaled > ticks * multiplier() ? ticks + 1 : ticks);
}

}  // namespace blkscope
