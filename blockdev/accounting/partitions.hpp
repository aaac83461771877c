// Partitions: the IO kstats of a device's partitions, and which one a request belongs to.
//
//     disk       |table|   nbd0,1    |gap|        nbd0,2        |
//     requests         [a]      [----b----]   [c]
//     counted on    1 and disk    disk only  2 and disk
//
// A request that lies in one partition is counted on it, with the stamps that the disk gets; one
// that spans two, or lies outside all, is counted on the disk only.
//
// Published (instance N): nbd:N:nbdN,P (IO, class partition), P as Linux numbers partitions.
//
// Ownership: owns the kstats; borrows the device's sequence lock. A partition that has gone keeps
//            its counters until its last request has left it.
// Threads:   a worker, under the device's lock, or whoever opens the device.
// Errors:    a kstat that cannot be created is missing; the requests are served all the same.
#pragma once

#include <cassert>
#include <cstdint>
#include <kstat/seqlock.hpp>
#include <memory>
#include <string>
#include <vector>

#include "blockdev/accounting/io_kstat.hpp"
#include "blockdev/device/partition_table.hpp"

namespace blkscope {

class Partitions {
  public:
    Partitions(const kstat::Seqlock& seq, int instance, uint32_t block_bytes)
        : seq_(seq), instance_(instance), block_bytes_(block_bytes) {}

    [[nodiscard]] bool empty() const { return present_.empty(); }

    /// The partition that holds all of the range, or nullptr. The sum must not wrap.
    [[nodiscard]] IoKstat* find(uint64_t offset, uint64_t bytes) const {
        assert(bytes <= UINT64_MAX - offset);
        return present_.empty() ? nullptr : find_among_present(offset, bytes);
    }

    /// The live counters of each, by first byte.
    [[nodiscard]] std::vector<const kstat_io_t*> counters() const;

    /// Makes these the partitions (by first byte, not overlapping). One that stays where it was
    /// keeps its kstat; the others come and go.
    void replace(const std::vector<Partition>& table);

  private:
    struct Present {
        Partition where;
        std::unique_ptr<IoKstat> stats;
    };

    [[nodiscard]] IoKstat* find_among_present(uint64_t offset, uint64_t bytes) const;
    std::unique_ptr<IoKstat> take(const Partition& where);

    const kstat::Seqlock& seq_;
    int instance_;
    uint32_t block_bytes_;
    std::vector<Present> present_;                   // by first byte
    std::vector<std::unique_ptr<IoKstat>> removed_;  // requests may still be in them
};

}  // namespace blkscope
