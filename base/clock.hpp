// The clock of the hot path: one counter read per queue transition, scaled only when a reader asks.
//
//     ticks = counter - origin                  now_unscaled(), per transition
//     ns    = ticks * multiplier >> 40          to_ns(), per snapshot
//
// The origin is chosen so that the one multiplication lands on CLOCK_MONOTONIC: no offset is added.
// The scale is measured once per process and frozen, so cumulative times never run backwards and
// the numbers of one kstat, all from this scale, have exact ratios. It then drifts from
// CLOCK_MONOTONIC by what the measurement missed (a few parts per million) and by what the kernel
// slews its clock.
//
// The counter is the TSC where the processor calls it invariant and the kernel itself keeps time by
// it, and cntvct_el0 on arm64. Elsewhere, and in a program that has not asked for the counter with
// calibrate_clock(), a tick is a nanosecond of CLOCK_MONOTONIC: what a provider of somebody else's
// sets or reads in its own kstat_io_t is then on the clock that everybody knows.
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

/// Nanoseconds, or ticks where it says so: the type that <sys/kstat.h> calls so, too.
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

/// Makes the counter the clock, after measuring its scale for about 20 ms; later calls return at
/// once. Before the program's first kstat: ticks taken earlier are of another length.
void calibrate_clock();

/// Ticks now. One counter read, not ordered against the instructions around it: for a counter with
/// one writer. gethrtime_unscaled() waits for earlier instructions, which callers that hand a
/// kstat_io_t from thread to thread under a lock need.
inline hrtime_t now_unscaled() {
    if (detail::hot_clock.counting.load(std::memory_order_acquire)) [[likely]] {
        return static_cast<hrtime_t>(detail::read_counter() - detail::hot_clock.origin);
    }
    return monotonic_ns();
}

/// Ticks, or a sum or product of ticks and a number, as nanoseconds; rounds down.
hrtime_t to_ns(hrtime_t ticks);

/// The ticks whose to_ns() is `ns`; on a counter slower than a tick per nanosecond, the next ones.
hrtime_t to_ticks(hrtime_t ns);

/// What to_ns() does, for who scales times of requests on the hot path: made once, after
/// calibrate_clock(), when the scale is frozen.
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

/// The moment now in nanoseconds, on the scale of to_ns: what the framework stamps.
inline hrtime_t now_ns() {
    return to_ns(now_unscaled());
}

}  // namespace blkscope::kstat
