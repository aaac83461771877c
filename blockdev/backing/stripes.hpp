// Stripes: locks for ranges of a device's bytes, for workers that move the bytes themselves.
//
//     bytes     |  256 KiB  |  256 KiB  |  256 KiB  | ...
//     lock         0           1           2          ... and again from 0 after the last
//
// Bytes under one lock() are moved as a whole. No reader sees half of a write, as a disk never
// shows half a sector.
//
// Units:     bytes.
// Ownership: owns the locks.
// Threads:   any.
// Errors:    none.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "blockdev/ring/lock.hpp"

namespace blkscope {

class Stripes {
  public:
    static constexpr uint64_t stripe_bytes = uint64_t{256} << 10;
    static constexpr uint64_t lock_bytes_max = uint64_t{8} << 20;

    /// The locks of a range, from construction to destruction.
    class [[nodiscard]] Locked {
      public:
        Locked(Stripes& stripes, uint64_t offset, uint64_t bytes)
            : stripes_(stripes), first_(offset / stripe_bytes % count) {
            const uint64_t last = (offset + bytes - 1) / stripe_bytes;
            end_ = first_ + static_cast<size_t>(last - offset / stripe_bytes) + 1;
            assert(bytes > 0 && bytes <= lock_bytes_max);
            assert(offset <= UINT64_MAX - bytes);
            assert(end_ - first_ <= count);  // each lock once
            each([](Lock& lock) { lock.lock(); });
        }
        ~Locked() {
            each([](Lock& lock) { lock.unlock(); });
        }
        Locked& operator=(Locked&&) = delete;

      private:
        // Always in the order of the locks, so that two threads never wait for each other. If a
        // range wraps around, the locks from 0 on come first.
        template <class Call>
        void each(Call call) {
            for (size_t i = count; i < end_; ++i) call(stripes_.locks_[i - count]);
            for (size_t i = first_; i < std::min(end_, count); ++i) call(stripes_.locks_[i]);
        }

        Stripes& stripes_;
        size_t first_;
        size_t end_;
    };

    /// Locks 1 to lock_bytes_max bytes.
    Locked lock(uint64_t offset, uint64_t bytes) { return {*this, offset, bytes}; }

  private:
    static constexpr size_t count = 64;
    static_assert(lock_bytes_max / stripe_bytes < count, "each lock is taken once");

    struct alignas(64) Padded : Lock {};  // a cache line each

    std::array<Padded, count> locks_;
};

}  // namespace blkscope
