// IoStats: the times and sizes of a device's requests, as a blob of stats(3). Published as the RAW
// kstat stats:N:nbdN; io_stats_template.hpp lists the contents.
//
// One sample costs some hundreds of nanoseconds, so only one request in `every` is sampled. The
// distributions stay true; the sums are a share of the whole. The order in which requests end
// decides which ones are sampled.
//
// A blob is 22 KiB, and most exports of a large server have no client. The blob is therefore made
// when the first client connects, or at the first sample if no client was announced. Until then a
// reader gets a blob without samples, which all devices of the process share. Template and size are
// the same.
//
// Units:     nanoseconds, bytes, requests.
// Ownership: owns the blob and its kstat.
// Threads:   prepare(), due() and take(): a worker, with the device locked. Readers run on the
//            control thread. `busy_` protects the blob; the worker sets it for a sample only. If a
//            reader has set it, the sample is dropped and counted, so the worker never waits.
// Errors:    without memory there is no blob and take() does nothing. If the kstat cannot be
//            created, published() is false, and kstat_create() has reported why.
// Source:    stats(3).
#pragma once

#include <blkscope/stats.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "blockdev/accounting/io_kstat.hpp"
#include "stats/device_template/io_stats_template.hpp"

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
        uint64_t depth;  // reads and writes in the device on arrival
    };

    /// One request in `every` is sampled; 0 for none.
    IoStats(int instance, const std::string& name, uint32_t every);
    IoStats& operator=(IoStats&&) = delete;

    [[nodiscard]] bool published() const { return kstat_ != nullptr; }

    /// Allocates the blob, if there is none. After this, take() needs no memory.
    void prepare();
    [[nodiscard]] bool prepared() const { return blob_ != nullptr; }

    /// Whether the request that ends now is to be sampled. Mostly not: then it costs one decrement.
    [[nodiscard]] bool due() { return --left_ == 0; }

    /// Samples the request for which due() was true.
    void take(const Request& request);

    /// The number of samples that were dropped because a reader was copying the blob.
    [[nodiscard]] uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    struct Destroy {
        void operator()(statsblob* blob) const { stats_blob_destroy(blob); }
    };

    void feed(const Request& request);
    static int snapshot(kstat_t* ksp, void* out, int rw);

    std::unique_ptr<statsblob, Destroy> blob_;  // set with the device locked and busy_ set
    uint64_t every_;
    uint64_t left_;
    std::atomic<uint64_t> dropped_{0};
    std::atomic_flag busy_;
    OwnedKstat kstat_;  // last: destroyed before the data that readers use
};

}  // namespace blkscope
