// WriteChoice: which method a write to a cached file uses, by what each has cost so far.
//
//     map     copy to a shared mapping      cheap once its pages are mapped; else a fault each
//     pwrite  pwrite(2) by the worker       walks all of a large folio for a small write
//     ring    a kernel worker's pwrite      costs hand-overs, but never stalls the worker
//
// The cheapest method depends on the folios in the page cache, which differ between ranges of a
// file. The choice keeps a mean cost for each method, range and class of sizes. A range without a
// mean uses the mean of all ranges. Most writes use the cheapest method; some are trials of
// another. After a write-back by the kernel, every page of a mapping faults once more. So a mean
// covers two laps, which are two writes of each page of a range.
//
// A mapping becomes cheap only by use. So a trial of it lasts three laps of a range:
//
//     writes of a range   |  lap 1  |  lap 2  |  lap 3
//     pages that fault    |  most   |  some   |  few; if something unmaps them, as many again
//     the mean is that of |         |         |  these copies
//
// Where first copies cost less than another method, a range begins a trial at once. In a large file
// the first trial ends late.
//
// A trial costs what its writes take beyond the other methods' mean. Cheap copies of trials pay for
// expensive ones. Trials have an allowance, and a small share of all time spent on writes. Savings
// of large copies pay for further trials, too.
//
// Units:     bytes; nanoseconds.
// Ownership: owns its means, some 100 bytes a range of 2 MiB, and 7 MB at most.
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

    /// The allowances for trials of writes up to 16 KiB, and of larger writes, which gain more. A
    /// copy in small folios gains 4 us of 16 KiB, and 30 us of 128 KiB.
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

    /// A write that was to use the mapping did not: its pages are not in the page cache. A trial of
    /// its range ends, because one that waits for them would take the allowance from others.
    void not_copied(uint64_t offset, uint64_t bytes);

    /// The expected cost of a method; 0 if it was never used.
    [[nodiscard]] int64_t cost_ns(Method method, uint64_t offset, uint64_t bytes) const;
    /// The cost of trials, less what copies have saved. For writes above 16 KiB it may be negative.
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
        int64_t trials_ns;     // less what copies have saved
        int64_t first_copies;  // still to be made in the first laps of trials
    };

    struct Range {
        std::array<Costs, write_size::class_count> costs;
        std::array<uint16_t, write_size::class_count> trial;  // copies left of one; 0: none
    };

    static void average(Mean& mean, float ns, uint16_t window);
    [[nodiscard]] float cost(Method method, const Range& range, size_t size_class) const;
    [[nodiscard]] Method best_other(const Range& range, size_t size_class) const;
    [[nodiscard]] Method best(const Range& range, size_t size_class) const;
    [[nodiscard]] bool may_try(size_t size_class, int64_t ns) const;
    [[nodiscard]] bool first_copies_pay(const Range& range, size_t size_class) const;
    Method try_mapping(Range& range, size_t size_class);
    void end_trial(Range& range, size_t size_class);
    Method try_other(Method best_method, size_t size_class);
    void charge(Method method, const Range& range, size_t size_class, float ns);
    void learn_copy(Range& range, size_t size_class, float ns);
    bool one_in(uint64_t count);

    RangeTable<Range> ranges_;
    std::array<Costs, write_size::class_count> all_{};          // of all ranges
    std::array<Mean, write_size::class_count> first_copies_{};  // of the first lap of trials
    uint64_t random_ = 1;                                       // the same in each run
    std::array<Spent, write_size::class_count> spent_{};
};

}  // namespace blkscope
