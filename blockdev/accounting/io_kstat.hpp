// IoKstat: a kstat_io_t that a worker writes, published for a disk, a partition or a client.
//
//     kstat     nbd:0:nbd0, of class disk
//     kstat2    kstat:/disk/nbd/nbd0/0
//
//     worker:   { writing = seq.write(); transition(stats.io, now); }      in ticks
//     reader:   copy through seq, add the time up to now, scale            nanoseconds
//
// Units:     ticks inside, nanoseconds for readers.
// Ownership: owns the counters and the kstats; borrows the sequence lock of the device.
// Threads:   `io`: a worker, with the device locked. Readers run on the control thread and never
//            block the worker.
// Errors:    if the kstat cannot be created, published() is false; kstat_create() has reported why.
// Source:    kstat_io(9S).
#pragma once

#include <sys/kstat.h>
#include <sys/kstat2.h>

#include <string>

#include "base/seqlock.hpp"
#include "blockdev/accounting/owned_kstat.hpp"

namespace blkscope {

/// The classes of IO kstats that a device has.
inline constexpr const char* disk_class = "disk";
inline constexpr const char* partition_class = "partition";
inline constexpr const char* client_class = "client";

class IoKstat {
  public:
    /// With a negative instance nothing is published.
    IoKstat(const Seqlock& seq, int instance, const std::string& name, const char* ks_class);
    IoKstat& operator=(IoKstat&&) = delete;

    [[nodiscard]] bool published() const { return kstat_ != nullptr; }
    /// Removes the kstats, so that readers no longer see them. The counters stay.
    void withdraw() {
        kstat2_.reset();
        kstat_.reset();
    }

    kstat_io_t io{};  // in ticks

  private:
    /// The counters at one moment, in nanoseconds.
    struct Snapshot {
        hrtime_t taken;
        kstat_io_t io;
    };

    [[nodiscard]] Snapshot take_snapshot() const;
    void publish(int instance, const std::string& name, const char* ks_class);
    void publish_kstat2(int instance, const std::string& name, const char* category);
    static int snapshot(kstat_t* ksp, void* out, int rw);
    static int update(kstat2_t* ksp, int rw);

    const Seqlock& seq_;
    OwnedKstat kstat_;
    OwnedKstat2 kstat2_;
};

}  // namespace blkscope
