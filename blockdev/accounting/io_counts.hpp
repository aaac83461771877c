// IoCounts: the queues of a disk and of its partitions, and FreeBSD's counts of the same requests.
//
//     entered  wait queue +1
//     started  wait queue -1, run queue +1, at one moment
//     ended    run queue -1, the operation and its bytes
//
// Each event changes the disk and the partition that contains the request, with the same stamp.
// Only reads and writes are in the queues, so that Little's law is exact for them. FreeBSD's counts
// have all requests.
//
// Units:     ticks of the kernel's clock, requests, bytes.
// Ownership: owns the counters and their kstats.
// Threads:   a worker, with the device locked and inside its sequence lock.
// Errors:    the constructor throws std::runtime_error.
// Source:    kstat_queue(9F), devstat(9).
#pragma once

#include "base/seqlock.hpp"
#include "blockdev/accounting/io_transitions.hpp"
#include "blockdev/accounting/partitions.hpp"
#include "blockdev/accounting/subject.hpp"
#include "blockdev/accounting/volume_kstat.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {

class IoCounts {
  public:
    IoCounts(const Seqlock& seq, const Subject& subject);

    void entered(const Buf& buf) {
        on_queues(buf, [&](kstat_io_t& io) { enter_waitq(io, buf); });
        on_devstats(buf, [&](DevstatCounters& counts) { counts.begin(buf.queued); });
    }
    void started(const Buf& buf) {
        on_queues(buf, [&](kstat_io_t& io) { enter_runq(io, buf); });
    }
    void ended(const Buf& buf) {
        on_queues(buf, [&](kstat_io_t& io) { leave_runq(io, buf); });
        on_devstats(buf, [&](DevstatCounters& counts) { counts.end(buf); });
    }

    /// The live counters of the disk, in ticks.
    [[nodiscard]] const kstat_io_t& disk() const { return disk_.io; }
    [[nodiscard]] Partitions& partitions() { return partitions_; }

  private:
    template <class Transition>
    void on_queues(const Buf& buf, Transition transition) {
        if (!buf.in_queues()) return;
        transition(disk_.io);
        if (buf.partition != nullptr) transition(buf.partition->io);
        if (buf.partition != nullptr && planted("partition-twice")) transition(buf.partition->io);
    }
    template <class Count>
    void on_devstats(const Buf& buf, Count count) {
        count(disk_.devstat);
        if (buf.partition != nullptr) count(buf.partition->devstat);
    }

    VolumeKstat disk_;
    Partitions partitions_;
};

}  // namespace blkscope
