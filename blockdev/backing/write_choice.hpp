// WriteChoice: which method a write to a cached file uses, by what each has cost so far.
//
//     map     copy to a shared mapping      cheap once its pages are mapped; else a fault each
//     pwrite  pwrite(2) by the worker       walks all of a large folio for a small write
//     ring    a kernel worker's pwrite      costs hand-overs, but never stalls the worker
//
// The cheapest method depends on the folios in the page cache, which differ between ranges of a
// file. The choice keeps a mean cost for each method, range and class of sizes. A range without a
// mean uses the mean of all ranges. Most writes use the cheapest method; some are trials of
// another. Trials may cost an allowance once, and after that a small share of all time spent on
// writes. The allowance is needed because a mapping becomes cheap only with use.
//
// A mean covers two writes of each page of a range. After a write-back by the kernel, every page of
// a mapping faults once more.
//
// Units:     bytes; nanoseconds.
// Ownership: owns its means, some 100 bytes a range of 2 MiB.
// Threads:   one; each worker has a choice of its own.
// Errors:    the constructor throws std::bad_alloc.
// Source:    measured here; docs/performance.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "blockdev/backing/range_table.hpp"
#include "blockdev/backing/write_size.hpp"

namespace blkscope {

class WriteChoice {
  public:
    enum class Method : uint8_t { map, pwrite, ring };
    static constexpr size_t method_count = 3;

    /// Larger writes may also use the ring.
    static constexpr uint64_t ring_above_bytes = uint64_t{64} << 10;

    /// The allowances for trials of writes up to 16 KiB, and of larger writes, which gain more. In
    /// small folios a copy gains 1.5 us at 16 KiB, and 19 us at 128 KiB.
    static constexpr uint64_t small_bytes_max = uint64_t{16} << 10;
    static constexpr int64_t small_allowance_ns = 50'000'000;
    static constexpr int64_t allowance_ns = 400'000'000;
    static constexpr int64_t trial_share = 32;  // one part of this many of all time is for trials

    /// For a file of `size_bytes`.
    explicit WriteChoice(uint64_t size_bytes) : ranges_(size_bytes) {}

    /// The method for 1 to write_size::bytes_max bytes at `offset`.
    Method choose(uint64_t offset, uint64_t bytes);
    /// A write used this method and took `ns`.
    void took(Method method, uint64_t offset, uint64_t bytes, int64_t ns);

    /// The expected cost of a method; 0 if it was never used.
    [[nodiscard]] int64_t cost_ns(Method method, uint64_t offset, uint64_t bytes) const;
    /// The time of trials, beyond the expected cost of the best method.
    [[nodiscard]] int64_t trials_ns(uint64_t bytes) const {
        return spent_[write_size::class_of(bytes)].trials_ns;
    }

  private:
    /// The mean of the latest costs; of all of them until there are enough.
    struct Mean {
        float ns;
        uint16_t count;
    };
    using Costs = std::array<Mean, method_count>;

    struct Spent {
        int64_t total_ns;
        int64_t trials_ns;  // beyond the expected cost of the best method
    };

    struct Range {
        std::array<Costs, write_size::class_count> costs;
    };

    static void average(Mean& mean, float ns, uint16_t window);
    [[nodiscard]] float cost(Method method, const Range& range, size_t size_class) const;
    [[nodiscard]] Method best(const Range& range, size_t size_class) const;
    Method trial(Method best_method, size_t size_class);
    bool one_in(uint64_t count);
    bool is_time_to_try(Method best_method, size_t size_class);

    RangeTable<Range> ranges_;
    std::array<Costs, write_size::class_count> all_{};  // of all ranges
    uint64_t random_ = 1;                               // the same in each run
    std::array<Spent, write_size::class_count> spent_{};
};

}  // namespace blkscope
