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

#include <cassert>

#include "base/seqlock.hpp"
#include "blockdev/accounting/io_kstat.hpp"
#include "blockdev/accounting/partitions.hpp"
#include "blockdev/accounting/subject.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/planted.hpp"
#include "kstat/registry/queues.hpp"

namespace blkscope {

class IoCounts {
  public:
    IoCounts(const Seqlock& seq, const Subject& subject);

    void entered(const Buf& buf) {
        on_queues(buf, [&](kstat_io_t& io) { kstat::waitq_enter(io, buf.queued); });
        on_devstats(buf, [&](DevstatCounters& counts) { counts.begin(buf.queued); });
    }
    void started(const Buf& buf) {
        on_queues(buf, [&](kstat_io_t& io) { kstat::waitq_to_runq(io, buf.started); });
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
    static void leave_runq(kstat_io_t& io, const Buf& buf);

    IoKstat disk_;
    Partitions partitions_;
};

inline void IoCounts::leave_runq(kstat_io_t& io, const Buf& buf) {
    assert(buf.in_queues());
    const bool reading = buf.op == Buf::Op::read;
    u_longlong_t& bytes = reading ? io.nread : io.nwritten;
    uint_t& operations = reading ? io.reads : io.writes;
    kstat::runq_exit(io, buf.finished);
    publish(bytes, bytes + buf.moved());
    publish(operations, operations + 1);
}

}  // namespace blkscope
