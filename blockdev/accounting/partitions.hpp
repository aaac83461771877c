// Partitions: the IO kstats of a device's partitions, and which partition contains a request.
//
//     disk       |table|   nbd0,1    |gap|        nbd0,2        |
//     requests         [a]      [----b----]   [c]
//     counted on    1 and disk    disk only  2 and disk
//
// A request inside one partition counts on that partition, with the same stamps as on the disk. A
// request that spans two partitions, or lies outside all, counts on the disk only.
//
// Published (instance N): nbd:N:nbdN,P (IO, class partition); P is Linux' number of the partition.
//
// Units:     bytes.
// Ownership: owns the kstats; borrows the device's sequence lock. A removed partition keeps its
//            counters until its last request has ended.
// Threads:   a worker, with the device locked, or the thread that opens the device.
// Errors:    a kstat that cannot be created is missing. Requests are served as usual.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/seqlock.hpp"
#include "blockdev/accounting/volume_kstat.hpp"
#include "blockdev/device/partition_table.hpp"

namespace blkscope {

class Partitions {
  public:
    Partitions(const Seqlock& seq, int instance, uint32_t block_bytes)
        : seq_(seq), instance_(instance), block_bytes_(block_bytes) {}

    [[nodiscard]] bool empty() const { return present_.empty(); }

    /// The partition that contains the whole range, or nullptr. offset + bytes must not wrap.
    [[nodiscard]] VolumeKstat* find(uint64_t offset, uint64_t bytes) const {
        assert(bytes <= UINT64_MAX - offset);
        return present_.empty() ? nullptr : find_among_present(offset, bytes);
    }

    /// The live counters of each partition, by first byte.
    [[nodiscard]] std::vector<const kstat_io_t*> counters() const;

    /// Replaces the partitions by `table` (by first byte, without overlaps). A partition that is
    /// unchanged keeps its kstat. The others are removed or created.
    void replace(const std::vector<Partition>& table);

  private:
    struct Present {
        Partition where;
        std::unique_ptr<VolumeKstat> stats;
    };

    [[nodiscard]] VolumeKstat* find_among_present(uint64_t offset, uint64_t bytes) const;
    std::unique_ptr<VolumeKstat> take(const Partition& where);

    const Seqlock& seq_;
    int instance_;
    uint32_t block_bytes_;
    std::vector<Present> present_;                   // by first byte
    std::vector<std::unique_ptr<VolumeKstat>> removed_;  // with requests that have not ended
};

}  // namespace blkscope
