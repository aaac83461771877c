// The array behind a histogram's "buckets", and the counting into it.
//
//     add(value)   bucket[index(value)] += 1, then the length that readers see, if it grows
//     reader       length, then the buckets below it
//
// The memory for every bucket is allocated at the start and never moves. Counting therefore takes
// no lock, and a reader needs no copy of the array. A linear histogram without a bound is large;
// the kernel backs its array page by page, as pages are touched. Only a linear array of the
// framework grows, and only in length. A provider's own array keeps its given length.
//
// Threads: any number of add()s and readers. Each bucket is monotonic. A reader's sum counts every
//          add that ended before the read began. No add that began after the read ended is in the
//          sum.
#pragma once

#include <sys/kstat2.h>

#include <atomic>
#include <memory>
#include <span>

#include "kstat/histogram/buckets.hpp"

namespace blkscope::kstat2 {

class Histogram {
  public:
    /// Attaches to the pair "buckets", which is in the kstat's storage and outlives this object.
    /// `own` is the provider's array. If `own` is empty, the constructor allocates an array and may
    /// throw std::bad_alloc.
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

    /// While the kstat is dormant or deleted, nothing is counted.
    void stop() { counts_.store(false, std::memory_order_relaxed); }
    void resume() { counts_.store(true, std::memory_order_relaxed); }

  private:
    struct Free {
        void operator()(void* memory) const;
    };

    // Called after the count: a reader that sees the new length also sees the count behind it.
    void show(uint32_t length) {
        const std::atomic_ref shown(pair_.value.integers.length);
        uint32_t seen = shown.load(std::memory_order_relaxed);
        while (seen < length &&
               !shown.compare_exchange_weak(seen, length, std::memory_order_release)) {
        }
    }

    const std::shared_ptr<const Buckets> shape_;  // shared with histograms of the same shape
    kstat2_named_t& pair_;
    std::unique_ptr<uint64_t[], Free> memory_;
    uint64_t* buckets_;
    uint32_t capacity_;
    bool grows_;
    std::atomic<bool> counts_{true};
};

}  // namespace blkscope::kstat2
