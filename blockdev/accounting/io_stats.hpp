// IoStats: what a device's requests took, as a blob of stats(3): see io_stats_template.hpp for what
// is in it. Published as the RAW kstat stats:N:nbdN.
//
// A request costs some hundreds of nanoseconds here, so only one in `every` is taken, which leaves
// the distributions true and the sums a share. Which one that is follows from the order in which
// they are done, and from nothing else.
//
// Units:     nanoseconds, bytes, requests.
// A blob is 22 KiB, and most exports of a large server have no client. The blob is therefore made when
// the first client comes, or at the first sample if no client was announced. Until then a reader gets
// a blob without samples, which all devices of the process share. Template and size are the same.
//
// Ownership: owns the blob and its kstat.
// Threads:   prepare(), due() and take() are a worker's, under the device's lock. Readers come on the kstat
// server's thread, and take a lock
//            that the worker takes for a sampled request only; if a reader holds it, that sample is
//            let go and counted, so the worker never waits.
// Errors:    without memory there is no blob and take() does nothing; where the kstat cannot be
//            created, published() is false and kstat_create() said why.
#pragma once

#include <blkscope/stats.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "blockdev/accounting/io_kstat.hpp"
#include "blockdev/accounting/io_stats_template.hpp"

namespace blkscope {

class IoStats {
  public:
    using enum IoStatsTemplate::Voi;

    /// A read or a write that is done.
    struct Request {
        bool write;
        uint64_t wait_ns;
        uint64_t service_ns;
        uint64_t size_bytes;
        uint64_t depth;  // reads and writes in the device when it came
    };

    /// every: one request in so many is taken; 0 for none.
    IoStats(int instance, const std::string& name, uint32_t every);
    IoStats(const IoStats&) = delete;
    IoStats& operator=(const IoStats&) = delete;

    [[nodiscard]] bool published() const { return kstat_ != nullptr; }

    /// Makes the blob, unless it is there: from here on take() needs no memory.
    void prepare();
    [[nodiscard]] bool prepared() const { return blob_ != nullptr; }

    /// Whether the request that is done now is to be taken. Rarely so: for most it is a decrement.
    [[nodiscard]] bool due() { return --left_ == 0; }

    /// Takes the request that is due.
    void take(const Request& request);

    /// Samples that a reader was in the way of.
    [[nodiscard]] uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    struct Destroy {
        void operator()(statsblob* blob) const { stats_blob_destroy(blob); }
    };

    void feed(const Request& request);
    static int snapshot(kstat_t* ksp, void* out, int rw);

    std::unique_ptr<statsblob, Destroy> blob_;  // set under the device's lock and while busy_
    uint64_t every_;
    uint64_t left_;
    std::atomic<uint64_t> dropped_{0};
    std::atomic_flag busy_;
    OwnedKstat kstat_;  // last: gone before what its readers read
};

}  // namespace blkscope
