// Draws: the random numbers of one request, a function of a seed, a stream and a number.
//
//     seed, stream (the operation), number (of the request) ─▶ first, second, ... draw
//
// Nothing is shared between two requests, so the draws of the n-th write are the same whatever else
// happens. The same seed and the same order of starting give the same times.
//
// Units:     none.
// Ownership: a value. Threads: one.
// Errors:    none.
// Source:    base/splitmix64.hpp;
//            counter-based generators (Salmon and others: Parallel random numbers, 2011).
#pragma once

#include <cassert>
#include <cstdint>

#include "base/splitmix64.hpp"

namespace blkscope::model {

class Draws {
  public:
    Draws(uint64_t seed, uint64_t stream, uint64_t number)
        : state_(splitmix64(splitmix64(splitmix64(seed) + stream) + number)) {}

    /// 64 random bits.
    uint64_t bits() {
        state_ += splitmix64_step;
        return splitmix64(state_);
    }
    /// A number above 0 and below 1, each of 2^52 with the same chance.
    double share() {
        constexpr double unit = 1.0 / (uint64_t{1} << 52);
        return (static_cast<double>(bits() >> 12) + 0.5) * unit;
    }
    /// 0 to `count` - 1. The bias is below `count` / 2^64.
    uint64_t below(uint64_t count) {
        assert(count > 0);
        __extension__ using Wide = unsigned __int128;
        return static_cast<uint64_t>(Wide{bits()} * count >> 64);
    }

  private:
    uint64_t state_;
};

}  // namespace blkscope::model
