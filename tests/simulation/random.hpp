// Random: numbers that follow from a seed, the same on every machine and with every library.
//
// Each part of a life has its own stream, with a number. Leaving a part out does not change the
// numbers of the others; shrinking depends on this.
//
// Source: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#pragma once

#include <cassert>
#include <cstdint>

namespace blkscope::simulation {

class Random {
  public:
    Random(uint64_t seed, uint64_t stream) : state_(mix(seed) ^ mix(~stream)) {}

    uint64_t next() {
        state_ += step;
        return mix(state_);
    }
    /// 0 to `count` - 1.
    uint64_t below(uint64_t count) {
        assert(count > 0);
        return next() % count;
    }
    /// `first` to `last`, including both.
    uint64_t between(uint64_t first, uint64_t last) {
        assert(first <= last);
        return first + below(last - first + 1);
    }
    /// True once in `count` times; never for 0.
    bool one_in(uint64_t count) { return count > 0 && below(count) == 0; }

  private:
    static constexpr uint64_t step = 0x9e3779b97f4a7c15;

    static uint64_t mix(uint64_t value) {
        value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
        value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
        return value ^ (value >> 31);
    }

    uint64_t state_;
};

}  // namespace blkscope::simulation
