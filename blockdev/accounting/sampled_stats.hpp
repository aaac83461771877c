// SampledStats: adds one read or write in `stats_rate` to a device's IoStats.
//
// A sample is taken outside the sequence lock, because readers of the counters must not wait that
// long.
//
// Units:     nanoseconds, bytes, requests.
// Ownership: owns the IoStats.
// Threads:   a worker, with the device locked.
// Errors:    as IoStats.
#pragma once

#include <algorithm>

#include "base/clock.hpp"
#include "base/seqlock.hpp"
#include "blockdev/accounting/io_stats.hpp"
#include "blockdev/accounting/subject.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

class SampledStats {
  public:
    SampledStats(const Seqlock&, const Subject& subject)
        : stats_(subject.instance, subject.name, subject.published() ? subject.stats_rate : 0) {}

    /// A client has connected. The memory is allocated now, so that no request has to.
    void connection_opened() { stats_.prepare(); }

    void after_end(const Buf& buf) {
        if (buf.in_queues() && stats_.due()) take(buf);
    }

  private:
    void take(const Buf& buf) {
        // The processor may read its counter a little early or late, so close stamps may be
        // swapped.
        const auto ns = [&](hrtime_t from, hrtime_t to) {
            return scale_.to_ns(static_cast<uint64_t>(std::max<hrtime_t>(to - from, 0)));
        };
        stats_.take({.write = buf.op == Buf::Op::write,
                     .wait_ns = ns(buf.queued, buf.started),
                     .service_ns = ns(buf.started, buf.finished),
                     .size_bytes = buf.bcount,
                     .depth = buf.depth_on_arrival});
    }

    const TickScale scale_;
    IoStats stats_;
};

}  // namespace blkscope
