// IoStats: what a device's requests took, as a blob of stats(3): service and wait times of reads
// and writes, sizes, and the depth that a request met, each with its extremes, a log-linear
// histogram and a t-digest. Published as the RAW kstat stats:N:nbdN; a reader finds the names in
// the template "blkscope.io", which it makes with make_template() too.
//
// A request costs some hundreds of nanoseconds here, so only one in `every` is taken, which leaves
// the distributions true and the sums a share.
//
// Units:     nanoseconds, bytes, requests.
// Ownership: owns the blob and its kstat.
// Threads:   done() is the worker's. Readers come on the kstat server's thread, and take a lock
//            that the worker takes for a sampled request only; if a reader holds it, that sample is
//            let go and counted, so the worker never waits.
// Errors:    without memory there is no blob and done() does nothing; where the kstat cannot be
//            created, published() is false and kstat_create() said why.
#pragma once

#include <blkscope/stats.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "blockdev/io_kstat.hpp"

namespace blkscope {

class IoStats {
  public:
    /// The variables of the template, in its order.
    enum Voi : int32_t {
        read_service,
        read_wait,
        write_service,
        write_wait,
        size,
        depth,
        voi_count
    };

    /// A read or a write that is done.
    struct Request {
        bool write;
        uint64_t wait_ns;
        uint64_t service_ns;
        uint64_t size_bytes;
        uint64_t depth;  // requests with the backing when it was started, itself included
    };

    /// every: one request in so many is taken; 0 for none.
    IoStats(int instance, const std::string& name, uint32_t every);
    IoStats(const IoStats&) = delete;
    IoStats& operator=(const IoStats&) = delete;

    [[nodiscard]] bool published() const { return kstat_ != nullptr; }

    /// Counts a request, or lets it pass: the common case, which is a decrement.
    void done(const Request& request) {
        if (--left_ == 0) take(request);
    }

    /// Samples that a reader was in the way of.
    [[nodiscard]] uint64_t let_go() const { return let_go_.load(std::memory_order_relaxed); }

    /// The number of the template, the same at every call; negative errno if it cannot be made.
    static int make_template();

  private:
    struct Destroy {
        void operator()(statsblob* blob) const { stats_blob_destroy(blob); }
    };

    void take(const Request& request);
    void feed(const Request& request);
    static int snapshot(kstat_t* ksp, void* out, int rw);

    std::unique_ptr<statsblob, Destroy> blob_;
    uint64_t every_;
    uint64_t left_;
    std::atomic<uint64_t> let_go_{0};
    std::atomic_flag busy_;
    OwnedKstat kstat_;  // last: gone before what its readers read
};

}  // namespace blkscope
