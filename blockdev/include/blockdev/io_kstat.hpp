// IoKstat: a kstat_io_t that a worker writes, published as a disk's or a partition's; and beside it
// what FreeBSD's statistics count of the same requests.
//
//     worker:  { writing = seq.write(); transition(stats.io, now); }      in ticks
//     reader:  copy through seq, charge up to now, scale                  nanoseconds
//
// Ownership: owns the counters and the kstat; borrows the sequence lock of the device.
// Threads:   `io` is the worker's; readers come on the kstat server's thread and never stall it.
// Errors:    where the kstat cannot be created, published() is false; kstat_create() said why.
#pragma once

#include <sys/kstat.h>

#include <kstat/seqlock.hpp>
#include <memory>
#include <string>

#include "blockdev/devstat_counters.hpp"

namespace blkscope {

struct KstatDelete {
    void operator()(kstat_t* ksp) const { kstat_delete(ksp); }
};

/// A kstat that is ours to delete.
using OwnedKstat = std::unique_ptr<kstat_t, KstatDelete>;

/// The module of a device's kstats, and its devices' name without the number.
inline constexpr const char* device_module = "nbd";

/// The classes of IO kstats that a device has.
inline constexpr const char* disk_class = "disk";
inline constexpr const char* partition_class = "partition";

class IoKstat {
  public:
    IoKstat(const kstat::Seqlock& seq, int instance, const std::string& name, const char* ks_class,
            uint32_t block_bytes);
    IoKstat(const IoKstat&) = delete;
    IoKstat& operator=(const IoKstat&) = delete;

    [[nodiscard]] bool published() const { return kstat_ != nullptr; }
    /// Takes it from the readers' sight; the counters stay.
    void withdraw() {
        kstat_.reset();
        devstat.withdraw();
    }

    kstat_io_t io{};  // in ticks
    DevstatCounters devstat;

  private:
    static int snapshot(kstat_t* ksp, void* out, int rw);

    const kstat::Seqlock& seq_;
    OwnedKstat kstat_;
};

}  // namespace blkscope
