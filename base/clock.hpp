// The clock of the hot path: one counter read per queue transition, scaled only at a snapshot.
//
//     ticks = counter - origin                  now_unscaled(), per transition
//     ns    = ticks * multiplier >> 40          to_ns(), per snapshot
//
// The origin is chosen so that the one multiplication gives CLOCK_MONOTONIC: no offset is added.
//
// The scale is measured once per process and frozen. Cumulative times therefore never decrease. All
// numbers of one kstat use one scale, so their ratios are exact. The scale drifts from
// CLOCK_MONOTONIC by the error of the measurement, a few parts per million. The kernel's slewing of
// its own clock adds to the drift, and a resume or a migration may set the counter anew. So
// correct_clock() compares the two and moves the origin. The scale stays.
//
// The counter on x86 is the TSC. The processor must call the TSC invariant, and the kernel must
// keep time by the TSC. The counter on arm64 is cntvct_el0.
//
// Elsewhere, and without a call of calibrate_clock(), a tick is a nanosecond of CLOCK_MONOTONIC. A
// foreign provider then sets and reads the times of its kstat_io_t on that common clock.
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

/// Nanoseconds, or ticks where a comment says so. <sys/kstat.h> declares the same type.
using hrtime_t = long long;

namespace blkscope {

inline constexpr hrtime_t ns_per_s = 1'000'000'000;

namespace detail {

struct HotClock {
    /// True once the counter is calibrated and is the clock. The multiplier is frozen from then on.
    std::atomic<bool> counting{false};
    std::atomic<uint64_t> origin{0};  // the counter's value at tick 0
    uint64_t multiplier = 0;          // nanoseconds per tick, times 2^40
};

extern HotClock hot_clock;

// Fraction bits of the multiplier. A product of ticks and multiplier fits into 128 bits.
inline constexpr unsigned scale_shift = 40;

// The raw counter; 0 on a processor without a known one, where nothing calls this function.
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
    return now.tv_sec * ns_per_s + now.tv_nsec;
}

/// Makes the counter the clock, after measuring its scale for about 20 ms. Later calls return at
/// once. Without a usable counter, the clock stays CLOCK_MONOTONIC.
///
/// A program calls this before its first kstat: earlier ticks have another length.
void calibrate_clock();

/// Sets the counter's clock to CLOCK_MONOTONIC if the two differ. A difference that no drift explains
/// is a step of the counter, and is logged. Takes about 200 ns; does nothing without calibrate_clock().
///
/// The clock may go back. Whoever needs order keeps the latest moment, as a device does.
void correct_clock();

/// Steps of the counter that correct_clock() has found in this process.
[[nodiscard]] uint64_t clock_steps();

/// Ticks now, for a kstat_io_t with one writer. The processor may read the counter before earlier
/// instructions finish. Callers that pass a kstat_io_t between threads under a lock need
/// gethrtime_unscaled(), which waits for those instructions.
inline hrtime_t now_unscaled() {
    if (detail::hot_clock.counting.load(std::memory_order_acquire)) [[likely]] {
        return static_cast<hrtime_t>(detail::read_counter() -
                                     detail::hot_clock.origin.load(std::memory_order_relaxed));
    }
    return monotonic_ns();
}

/// Converts ticks to nanoseconds and rounds down. Sums of ticks may be converted too, and products
/// of ticks and a number.
hrtime_t to_ns(hrtime_t ticks);

/// Converts nanoseconds to ticks and rounds up: to_ns() of the result is `ns`. On a counter slower
/// than a tick per nanosecond, to_ns() of the result may be later than `ns`.
hrtime_t to_ticks(hrtime_t ns);

/// The conversion of to_ns() for the times of requests on the hot path. The constructor copies the
/// scale, so an object is created after calibrate_clock(), when the scale is frozen.
///
/// Threads: any.
class TickScale {
  public:
    TickScale();
    /// The conversion for a clock whose ticks are nanoseconds.
    [[nodiscard]] static TickScale of_ns() { return TickScale(uint64_t{1} << detail::scale_shift); }

    /// The same as blkscope::to_ns(ticks), for a time that is not negative.
    [[nodiscard]] uint64_t to_ns(uint64_t ticks) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<uint64_t>(Wide{ticks} * multiplier_ >> detail::scale_shift);
    }

  private:
    explicit TickScale(uint64_t multiplier) : multiplier_(multiplier) {}

    uint64_t multiplier_;  // nanoseconds per tick, times 2^scale_shift
};

/// The moment now in nanoseconds, on the scale of to_ns(). The framework stamps ks_crtime and
/// ks_snaptime on this scale.
inline hrtime_t now_ns() {
    return to_ns(now_unscaled());
}

}  // namespace blkscope
