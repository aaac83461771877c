// WriteChoice: which way a write to a cached file goes, by what each way has cost so far.
//
//     map     copy to a shared mapping      cheap once its pages are mapped; else a fault each
//     pwrite  pwrite(2) on the spot         walks all of a large folio for a small write
//     ring    a kernel worker's pwrite      costs hand-overs, but never stalls the worker
//
// Which is cheapest depends on the folios that the page cache happens to have, and these differ from
// range to range of a file. The choice keeps a mean cost for each way, range and class of sizes; a
// range without one takes the mean of all ranges. The cheapest way is taken, and others are tried
// now and then. Such trials may cost an allowance once, and then a small share of all time spent on
// writes. A mapping becomes cheap only with use, hence the allowance.
//
// The means run over two writes of each page of a range, because a write-back by the kernel makes
// every page of a mapping fault once more.
//
// The same class says when a range is to be unmapped. After a write-back, a large folio is mapped
// page by page, each at the price of the folio; unmapped, it is mapped as a whole again. With small
// folios unmapping only costs. So the faults of the copies after it are measured, and a range is
// unmapped again only when copies have become clearly dearer than that.
//
// Units:   bytes; nanoseconds.
// Threads: one; each worker has a choice of its own.
// Errors:  none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace blkscope {

class WriteChoice {
  public:
    enum class Way : uint8_t { map, pwrite, ring };
    static constexpr size_t way_count = 3;

    /// The largest folio of x86-64's page cache, and what one page of page tables maps.
    static constexpr uint64_t range_bytes = uint64_t{2} << 20;
    static constexpr uint64_t write_bytes_max = uint64_t{128} << 10;
    /// Larger writes may also go to the ring.
    static constexpr uint64_t ring_above_bytes = uint64_t{64} << 10;

    /// For trials of up to 4 KiB, and of larger writes, which gain more by a mapping in use.
    static constexpr int64_t small_allowance_ns = 50'000'000;
    static constexpr int64_t allowance_ns = 400'000'000;
    static constexpr int64_t trial_share = 32;  // one part of this many of all time is for trials

    /// For a file of so many bytes.
    explicit WriteChoice(uint64_t size_bytes);

    /// The way for 1 to write_bytes_max bytes at `offset`.
    Way choose(uint64_t offset, uint64_t bytes);
    /// A write went this way and took `ns`.
    void took(Way way, uint64_t offset, uint64_t bytes, int64_t ns);
    /// To be asked after each write through the mapping: whether its range is to be unmapped now.
    bool should_unmap(uint64_t offset, uint64_t bytes, int64_t ns);

    /// What a way is expected to cost; 0 if it was never taken.
    [[nodiscard]] int64_t cost_ns(Way way, uint64_t offset, uint64_t bytes) const;
    /// What trials have cost beyond the way that seemed best.
    [[nodiscard]] int64_t trials_ns(uint64_t bytes) const {
        return spent_[class_of(bytes)].trials_ns;
    }

  private:
    static constexpr size_t class_count = 4;

    /// The mean of the latest costs; of all of them until there are enough.
    struct Mean {
        float ns;
        uint16_t count;
    };
    using Costs = std::array<Mean, way_count>;

    struct Spent {
        int64_t total_ns;
        int64_t trials_ns;  // beyond the way that seemed best
    };

    /// All zeroes at first: memory that nobody writes to stays unused.
    struct Range {
        std::array<Costs, class_count> costs;
        float faults_ns;        // in a copy, mean of the latest; not while they are watched
        float watched_ns;       // in the copies that have been watched, sum
        float unmapped_ns;      // in a copy after the range was unmapped, mean; 0: not known
        uint8_t long_faults;    // since then
        uint8_t watched;        // copies since the range was unmapped
        uint8_t to_watch;       // copies still to be watched
        uint8_t watched_class;  // of unmapped_ns
    };
    struct Freed {
        void operator()(Range* ranges) const { std::free(ranges); }
    };

    static size_t class_of(uint64_t bytes);
    static void average(Mean& mean, float ns, uint16_t window);
    [[nodiscard]] const Range& range_of(uint64_t offset) const;
    [[nodiscard]] float cost(Way way, const Range& range, size_t size_class) const;
    [[nodiscard]] Way best(const Range& range, size_t size_class) const;
    Way trial(Way best_way, size_t size_class);
    bool one_in(uint64_t count);
    bool is_time_to_try(Way best_way, size_t size_class);
    void watch(Range& range, int64_t faults_ns);
    [[nodiscard]] bool unmapping_helps(Range& range, size_t size_class);

    size_t range_count_;
    std::unique_ptr<Range[], Freed> ranges_;
    std::array<Costs, class_count> all_{};  // of all ranges
    uint64_t random_ = 1;                   // the same in each run
    std::array<Spent, class_count> spent_{};
    std::array<float, class_count> unmapped_ns_{};  // as a range's, of all ranges
};

}  // namespace blkscope
