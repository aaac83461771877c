// The array behind a histogram's "buckets", and the counting into it.
//
//     add(value)   bucket[index(value)] += 1, then the length that readers see, if it grows
//     reader       length, then the buckets below it
//
// Memory for every bucket is there from the start and never moves, so counting takes no lock and a
// reader no copy of it. What is large (a linear histogram without a bound) the kernel backs page by
// page as it is touched. Only a linear array of ours grows, and only in length; a provider's own is
// as long as it was given.
//
// Threads: any number of add()s and readers. Each bucket is monotonic; the sum that a reader finds
// lies between the adds that ended before it began and those that began before it ended.
#pragma once

#include <sys/kstat2.h>

#include <atomic>
#include <memory>
#include <span>

#include "kstat/histogram/buckets.hpp"

namespace blkscope::kstat2 {

class Histogram {
  public:
    /// Attaches to the pair "buckets", which is in the same storage as the rest of the kstat and
    /// outlives this. `own` is the provider's array, or empty for one of ours; then throws
    /// std::bad_alloc.
    Histogram(std::shared_ptr<const Buckets> shape, std::span<uint64_t> own, kstat2_named_t& pair);

    const Buckets& shape() const { return *shape_; }

    /// Counts one occurrence, unless the histogram is stopped.
    void add(uint64_t value) {
        if (!counts_.load(std::memory_order_relaxed)) return;
        const uint32_t wanted = shape_->index(value);
        const uint32_t i = wanted < capacity_ ? wanted : capacity_ - 1;
        std::atomic_ref(buckets_[i]).fetch_add(1, std::memory_order_relaxed);
        if (grows_) show(i + 1);
    }

    /// While its kstat is dormant or deleted, nothing is counted.
    void stop() { counts_.store(false, std::memory_order_relaxed); }
    void resume() { counts_.store(true, std::memory_order_relaxed); }

  private:
    struct Free {
        void operator()(void* memory) const;
    };

    // After the count, so that whoever sees the length sees what it was raised for.
    void show(uint32_t length) {
        const std::atomic_ref shown(pair_.value.integers.length);
        uint32_t seen = shown.load(std::memory_order_relaxed);
        while (seen < length &&
               !shown.compare_exchange_weak(seen, length, std::memory_order_release)) {
        }
    }

    const std::shared_ptr<const Buckets> shape_;  // with others that have the same
    kstat2_named_t& pair_;
    std::unique_ptr<uint64_t[], Free> memory_;
    uint64_t* buckets_;
    uint32_t capacity_;
    bool grows_;
    std::atomic<bool> counts_{true};
};

}  // namespace blkscope::kstat2
