// UnmapChoice: when a range of a mapping is unmapped, by what the copies to it have cost.
//
// After a write-back, a large folio is mapped page by page, and each page costs as much as the
// folio. An unmapped folio is mapped again as a whole. With small folios unmapping only costs. The
// faults of the copies after it are therefore measured. A range is unmapped again only when copies
// have become clearly more expensive.
//
//     counting ── long faults, and unmapping helps ──▶ due ── unmapped() ──▶ watching
//        ▲                                                                      │
//        └────────────── the copies after it are measured ──────────────────────┘
//
// copied() records and moves a range to `due` and back to `counting`. should_unmap() only asks.
//
// Units:     bytes; nanoseconds.
// Ownership: owns its means, 16 bytes a range, and 1 MiB at most.
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

class UnmapChoice {
  public:
    /// For a file of `size_bytes`.
    explicit UnmapChoice(uint64_t size_bytes) : ranges_(size_bytes) {}

    /// A write of 1 to write_size::bytes_max bytes was copied to the mapping in `ns`.
    void copied(uint64_t offset, uint64_t bytes, int64_t ns);
    /// Whether the range of `offset` is due to be unmapped.
    [[nodiscard]] bool should_unmap(uint64_t offset) const {
        return ranges_.at(offset).long_faults >= long_faults_max;
    }
    /// The range of `offset` was unmapped after a write of so many bytes.
    void unmapped(uint64_t offset, uint64_t bytes);

  private:
    // A range with only a few writes between flushes stays mapped.
    static constexpr uint8_t long_faults_max = 16;

    struct Range {
        float faults_ns;        // mean time of faults in a copy, of the latest unwatched ones
        float watched_ns;       // sum of the times of faults in watched copies
        float unmapped_ns;      // mean time of faults in a copy after unmapping; 0: not known
        uint8_t long_faults;    // copies with long faults; long_faults_max: due
        uint8_t watched;        // copies since the range was unmapped
        uint8_t to_watch;       // copies still to be watched
        uint8_t watched_class;  // the class of sizes of unmapped_ns
    };

    void watch(Range& range, int64_t faults_ns);
    [[nodiscard]] bool helps(const Range& range, size_t size_class) const;

    RangeTable<Range> ranges_;
    std::array<float, write_size::class_count> unmapped_ns_{};  // as in Range, of all ranges
};

}  // namespace blkscope
