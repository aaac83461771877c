// SampledStats: takes one read or write in so many into a device's IoStats.
//
// The sample is taken outside the sequence lock, because it takes longer than readers of the
// counters should have to wait.
//
// Threads: a worker, under the device's lock.
#pragma once

#include <algorithm>
#include <kstat/clock.hpp>
#include <kstat/seqlock.hpp>

#include "blockdev/accounting/io_stats.hpp"
#include "blockdev/accounting/subject.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

class SampledStats {
  public:
    SampledStats(const kstat::Seqlock&, const Subject& subject)
        : stats_(subject.instance, subject.name, subject.published() ? subject.stats_rate : 0) {}

    /// A client has come: its requests are to find all memory there.
    void connection_opened() { stats_.prepare(); }

    void after_end(const Buf& buf) {
        if (buf.in_queues() && stats_.due()) take(buf);
    }

  private:
    void take(const Buf& buf) {
        // The counter may be read a little early or late: two moments that close may change places.
        const auto ns = [&](hrtime_t from, hrtime_t to) {
            return scale_.to_ns(static_cast<uint64_t>(std::max<hrtime_t>(to - from, 0)));
        };
        stats_.take({.write = buf.op == Buf::Op::write,
                     .wait_ns = ns(buf.queued, buf.started),
                     .service_ns = ns(buf.started, buf.finished),
                     .size_bytes = buf.bcount,
                     .depth = buf.depth_on_arrival});
    }

    const kstat::TickScale scale_;
    IoStats stats_;
};

}  // namespace blkscope
