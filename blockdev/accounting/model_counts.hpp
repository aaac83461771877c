// ModelCounts: the counts of a device's model.
//
//     planned end ── lateness ──▶ the end         the worker's own delay, by steps of a twentieth
//     draw ──────── overrun ────▶ the answer      the backing was slower than the model
//
// Units:     nanoseconds and requests.
// Ownership: a value.
// Threads:   a worker, with the device locked; any thread observes each number by itself.
// Errors:    none.
#pragma once

#include <array>
#include <cstdint>

#include "base/seqlock.hpp"
#include "kstat/histogram/buckets.hpp"

namespace blkscope {

struct ModelCounts {
    /// From 1 us to 100 s, as the histograms of requests have them.
    static constexpr kstat2::Buckets lateness_steps{KSTAT2_NVHIST_LOG10_LIN, 3, 10, 20};

    uint64_t seed = 0;
    uint64_t servers = 0;
    uint64_t drawn = 0;       // requests that took a server
    uint64_t overruns = 0;    // requests for which the backing took longer than the draw
    uint64_t overrun_ns = 0;  // the sum of what it took longer
    uint64_t late_ns = 0;     // the sum of all lateness
    std::array<uint64_t, lateness_steps.count()> lateness{};

    void late(uint64_t ns) {
        publish(late_ns, late_ns + ns);
        uint64_t& step = lateness[lateness_steps.index(ns)];
        publish(step, step + 1);
    }
};

}  // namespace blkscope
