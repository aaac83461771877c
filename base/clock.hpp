// The clock of the hot path: one counter read per queue transition, scaled only when a reader asks.
//
//     ticks = counter - origin                  now_unscaled(), per transition
//     ns    = ticks * multiplier >> 40          to_ns(), per snapshot
//
// The origin is chosen so that the one multiplication gives CLOCK_MONOTONIC: no offset is added.
// The scale is measured once per process and frozen. Cumulative times therefore never run
// backwards. All numbers of one kstat are from this scale, so their ratios are exact. The result
// drifts from CLOCK_MONOTONIC for two reasons. The measurement has an error of a few parts per
// million, and the kernel slews its clock.
//
// On x86 the counter is the TSC, if the processor calls it invariant and the kernel keeps time by
// it. On arm64 the counter is cntvct_el0. Elsewhere a tick is a nanosecond of CLOCK_MONOTONIC. The
// same holds in a program that has not called calibrate_clock(). A foreign provider that sets or
// reads times in its kstat_io_t then uses the common clock.
//
// Threads: any.
// Source:  Intel SDM volume 3, 17.17.1 (invariant TSC); gethrtime(9F).
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

/// Nanoseconds, or ticks where a comment says so. <sys/kstat.h> has the same type.
using hrtime_t = long long;

namespace blkscope::kstat {

namespace detail {

struct HotClock {
    /// True once the counter below is calibrated and is the clock; the fields are frozen then.
    std::atomic<bool> counting{false};
    uint64_t origin = 0;      // the counter's value at tick 0
    uint64_t multiplier = 0;  // nanoseconds per tick, times 2^40
};

extern HotClock hot_clock;

inline constexpr unsigned scale_shift = 40;

inline uint64_t read_counter() {
#if defined(__x86_64__) || defined(__i386__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

}  // namespace detail

/// CLOCK_MONOTONIC in nanoseconds: gethrtime(3C).
inline hrtime_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

/// Measures the counter's scale for about 20 ms and makes the counter the clock. Later calls return
/// at once. A program calls this before its first kstat: ticks taken earlier have another length.
void calibrate_clock();

/// Ticks now: one counter read, not ordered against the instructions around it. Suited to a counter
/// with one writer. gethrtime_unscaled() waits for earlier instructions. Callers that pass a
/// kstat_io_t between threads under a lock need that order.
inline hrtime_t now_unscaled() {
    if (detail::hot_clock.counting.load(std::memory_order_acquire)) [[likely]] {
        return static_cast<hrtime_t>(detail::read_counter() - detail::hot_clock.origin);
    }
    return monotonic_ns();
}

/// Converts ticks, or a sum or product of ticks and a number, to nanoseconds; rounds down.
hrtime_t to_ns(hrtime_t ticks);

/// The ticks whose to_ns() is `ns`. On a counter slower than a tick per nanosecond, the next larger
/// ticks.
hrtime_t to_ticks(hrtime_t ns);

/// The same conversion as to_ns(), for code that scales times of requests on the hot path.
/// Constructed once, after calibrate_clock(), when the scale is frozen.
///
/// Threads: any.
class TickScale {
  public:
    TickScale();

    /// The same as kstat::to_ns(ticks) of a time that is not negative.
    [[nodiscard]] uint64_t to_ns(uint64_t ticks) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<uint64_t>(Wide{ticks} * multiplier_ >> detail::scale_shift);
    }

  private:
    uint64_t multiplier_;  // nanoseconds per tick, times 2^scale_shift
};

/// The time now in nanoseconds, on the scale of to_ns. The framework stamps kstats with it.
inline hrtime_t now_ns() {
    return to_ns(now_unscaled());
}

}  // namespace blkscope::kstat
