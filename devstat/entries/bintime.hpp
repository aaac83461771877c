// struct bintime: seconds and units of 2^-64 s.
//
// Threads: any. Errors: none; sums and differences wrap, as FreeBSD's do.
#pragma once

#include <sys/devicestat.h>
#include <sys/kstat.h>

#include <cstdint>

namespace blkscope::devstat {

/// Rounds up, so that cutting the result to nanoseconds gives `ns` again.
inline bintime bintime_of(hrtime_t ns) {
    __extension__ using Wide = unsigned __int128;
    constexpr hrtime_t ns_per_s = 1'000'000'000;
    hrtime_t sec = ns / ns_per_s;
    hrtime_t rest = ns % ns_per_s;
    if (rest < 0) {
        rest += ns_per_s;
        --sec;
    }
    const Wide scaled = static_cast<Wide>(rest) << 64;
    return {sec, static_cast<uint64_t>((scaled + ns_per_s - 1) / ns_per_s)};
}

/// Rounds to the nearest: differences of rounded-up times may be slightly short.
inline hrtime_t ns_of(const bintime& time) {
    __extension__ using Wide = unsigned __int128;
    constexpr hrtime_t ns_per_s = 1'000'000'000;
    constexpr Wide half = Wide{1} << 63;
    return time.sec * ns_per_s +
           static_cast<hrtime_t>((static_cast<Wide>(time.frac) * ns_per_s + half) >> 64);
}

inline bintime sum(const bintime& a, const bintime& b) {
    bintime result{a.sec + b.sec, a.frac + b.frac};
    if (result.frac < a.frac) ++result.sec;
    return result;
}

inline bintime difference(const bintime& a, const bintime& b) {
    bintime result{a.sec - b.sec, a.frac - b.frac};
    if (a.frac < b.frac) --result.sec;
    return result;
}

}  // namespace blkscope::devstat
