// splitmix64: 64 random bits from a state that grows by a constant.
//
// Units:     none.
// Ownership: values. Threads: any.
// Errors:    none.
// Source:    Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014.
#pragma once

#include <cstdint>

namespace blkscope {

/// The state grows by this for each number.
inline constexpr uint64_t splitmix64_step = 0x9e3779b97f4a7c15;

/// The random number of a state. Each state has a number of its own.
inline uint64_t splitmix64(uint64_t state) {
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    return state ^ (state >> 31);
}

}  // namespace blkscope
