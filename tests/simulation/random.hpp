// Random: numbers that follow from a seed, the same on every machine and with every library.
//
// Each part of a life has its own stream, with a number. Leaving a part out does not change the
// numbers of the others; shrinking depends on this.
//
// Source: base/splitmix64.hpp.
#pragma once

#include <cassert>
#include <cstdint>

#include "base/splitmix64.hpp"

namespace blkscope::simulation {

class Random {
  public:
    Random(uint64_t seed, uint64_t stream) : state_(splitmix64(seed) ^ splitmix64(~stream)) {}

    uint64_t next() {
        state_ += splitmix64_step;
        return splitmix64(state_);
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
    uint64_t state_;
};

}  // namespace blkscope::simulation
