// RequestHistograms: the distributions of times, sizes and depths of a device's requests.
//
//     received ─ receive ─▶ queued ─ wait ─▶ started ─ service ─▶ finished ─ reply ─▶ replied
//                           └───────────────── total ─────────────┘
//
// The stamps are the buf's own. kstat_io gets those from queued to finished, too.
//
// Each request counts once when it ends, failed or not: in wait, service, total and size of its
// operation. A flush has no size. A read or write also counts in `latency`, its total time by
// powers of two. And it counts in `depth`, the number of reads and writes in the device on arrival.
// Cache and block_status operations are not counted, because no program waits for them. Requests
// that strategy() refused are not counted either.
//
// A request of a connection also counts in `receive`, and in `reply` when its reply was sent. A
// reply that is never sent, because its connection has closed, does not count.
//
// Times have the LOG10_LIN steps of a twentieth from 1 us to 100 s. The shapes are known at compile
// time, so a bucket is found in a few instructions. The histograms may cost a hundredth of a
// request's time.
//
// Units:     nanoseconds, and requests; the sums of an Operation in ticks of gethrtime_unscaled().
// Ownership: owns the counts, which kstats may borrow as they are. The counts are 37 KiB; a device
//            without requests has no page of them resident.
// Threads:   count() and count_reply(): a worker, with the device locked and inside a write of its sequence lock. Any
//            thread may read the arrays meanwhile, each number by itself. switch_on() and
//            switch_off(): any one thread at a time.
// Errors:    the constructor throws std::bad_alloc.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "base/seqlock.hpp"
#include "blockdev/accounting/counter_pages.hpp"
#include "blockdev/queue/buf.hpp"
#include "kstat/histogram/buckets.hpp"

namespace blkscope {

class RequestHistograms {
  public:
    /// The operations of Buf::Op before `cache` have histograms.
    static constexpr size_t operation_count = static_cast<size_t>(Buf::Op::cache);

    static constexpr kstat2::Buckets latency_steps{KSTAT2_NVHIST_LOG10_LIN, 3, 10, 20};
    static constexpr kstat2::Buckets powers_of_2{KSTAT2_NVHIST_LOG2, 0, 0, 0};
    /// One bucket per depth up to 256, then one for 257 or more.
    static constexpr kstat2::Buckets depth_steps{KSTAT2_NVHIST_LINEAR, 1, 257, 1};

    using Latencies = std::array<uint64_t, latency_steps.count()>;
    using Powers = std::array<uint64_t, powers_of_2.count()>;
    using Depths = std::array<uint64_t, depth_steps.count()>;

    struct Operation {
        uint64_t waited;  // ticks, all requests together
        uint64_t served;
        uint64_t receiving;
        uint64_t replying;
        Latencies wait;
        Latencies service;
        Latencies total;
        Latencies receive;
        Latencies reply;
        Powers size;
    };

    /// All zero at first, in pages of their own: see blockdev/accounting/counter_pages.hpp.
    struct Counts {
        std::array<Operation, operation_count> operations;  // in the order of Buf::Op
        Powers latency;
        Depths depth;
    };

    explicit RequestHistograms(const Seqlock& seq, TickScale scale = {})
        : seq_(seq), scale_(scale) {}
    RequestHistograms& operator=(RequestHistograms&&) = delete;

    /// Counts a request that has ended, by its stamps and `depth_on_arrival`, unless switched off.
    void count(const Buf& buf);
    /// Counts the reply of such a request, which was sent at `replied`.
    void count_reply(const Buf& buf);

    /// Sets all counts to 0 and begins to count with the next request. Returns when no earlier
    /// request is still being counted.
    void switch_on();
    /// Returns when no request is being counted any more.
    void switch_off();
    [[nodiscard]] bool on() const { return on_.load(std::memory_order_acquire); }

    /// The live counts, for kstats to point at and for tests.
    [[nodiscard]] Counts& counts() { return *counts_; }
    [[nodiscard]] const Counts& counts() const { return *counts_; }

  private:
    // Only the worker writes. A reader needs each number whole, and no order between numbers.
    static void add(uint64_t& count, uint64_t n = 1) {
        std::atomic_ref<uint64_t>(count).store(count + n, std::memory_order_relaxed);
    }
    void count_stage(uint64_t& sum, Latencies& counts, hrtime_t from, hrtime_t to);
    void count_transfer(const Buf& buf, uint64_t total_ns);

    const Seqlock& seq_;
    const TickScale scale_;
    std::atomic<bool> on_{false};
    CounterPages<Counts> counts_;
};

inline void RequestHistograms::count(const Buf& buf) {
    const auto index = static_cast<size_t>(buf.op);
    if (index >= operation_count || !on()) return;
    Operation& operation = (*counts_).operations[index];
    // The processor may read its counter a little early or late, so two close stamps may be
    // swapped.
    const auto waited = static_cast<uint64_t>(std::max<hrtime_t>(buf.started - buf.queued, 0));
    const auto served = static_cast<uint64_t>(std::max<hrtime_t>(buf.finished - buf.started, 0));
    const uint64_t wait_ns = scale_.to_ns(waited);
    const uint64_t service_ns = scale_.to_ns(served);
    add(operation.waited, waited);
    add(operation.served, served);
    add(operation.wait[latency_steps.index(wait_ns)]);
    add(operation.service[latency_steps.index(service_ns)]);
    add(operation.total[latency_steps.index(wait_ns + service_ns)]);
    if (buf.received > 0)
        count_stage(operation.receiving, operation.receive, buf.received, buf.queued);
    if (buf.op == Buf::Op::flush) return;
    add(operation.size[powers_of_2.index(buf.bcount)]);
    if (buf.in_queues()) count_transfer(buf, wait_ns + service_ns);
}

inline void RequestHistograms::count_reply(const Buf& buf) {
    const auto index = static_cast<size_t>(buf.op);
    if (index >= operation_count || !on()) return;
    Operation& operation = (*counts_).operations[index];
    count_stage(operation.replying, operation.reply, buf.finished, buf.replied);
}

inline void RequestHistograms::count_stage(uint64_t& sum, Latencies& counts, hrtime_t from,
                                           hrtime_t to) {
    const auto ticks = static_cast<uint64_t>(std::max<hrtime_t>(to - from, 0));
    add(sum, ticks);
    add(counts[latency_steps.index(scale_.to_ns(ticks))]);
}

inline void RequestHistograms::count_transfer(const Buf& buf, uint64_t total_ns) {
    add((*counts_).latency[powers_of_2.index(total_ns)]);
    add((*counts_).depth[depth_steps.index(buf.depth_on_arrival)]);
}

}  // namespace blkscope
