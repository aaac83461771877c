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
// Source:    splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014);
//            counter-based generators (Salmon and others: Parallel random numbers, 2011).
#pragma once

#include <cassert>
#include <cstdint>

namespace blkscope::model {

class Draws {
  public:
    Draws(uint64_t seed, uint64_t stream, uint64_t number)
        : state_(mix(mix(mix(seed) + stream) + number)) {}

    /// 64 random bits.
    uint64_t bits() {
        state_ += step;
        return mix(state_);
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
    static constexpr uint64_t step = 0x9e3779b97f4a7c15;

    static uint64_t mix(uint64_t value) {
        value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
        value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
        return value ^ (value >> 31);
    }

    uint64_t state_;
};

}  // namespace blkscope::model
