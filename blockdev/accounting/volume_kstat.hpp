// VolumeKstat: the IoKstat of a disk or a partition, with FreeBSD's counts of the same requests.
//
//     devstat   devstat:0:nbd0,devstat
//
// A client has an IoKstat only: FreeBSD's list names devices.
//
// Units:     as IoKstat and DevstatCounters.
// Ownership: owns both; borrows the sequence lock of the device.
// Threads:   as IoKstat.
// Errors:    as IoKstat.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "base/seqlock.hpp"
#include "blockdev/accounting/devstat_counters.hpp"
#include "blockdev/accounting/io_kstat.hpp"

namespace blkscope {

class VolumeKstat final : public IoKstat {
  public:
    /// With a negative instance nothing is published.
    VolumeKstat(const Seqlock& seq, int instance, const std::string& name, const char* ks_class,
                uint32_t block_bytes)
        : IoKstat(seq, instance, name, ks_class),
          devstat(seq, instance, name, std::strcmp(ks_class, partition_class) == 0, block_bytes) {}

    /// Removes the kstats and the entry, so that readers no longer see them. The counters stay.
    void withdraw() {
        IoKstat::withdraw();
        devstat.withdraw();
    }

    DevstatCounters devstat;
};

}  // namespace blkscope
