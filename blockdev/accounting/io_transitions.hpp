// Transitions of a read or write in a kstat_io_t, by the stamps that the request has. A disk, its
// partitions and its clients count by the same stamps.
//
// Units:     ticks of the kernel's clock, requests, bytes.
// Ownership: borrows both arguments for the call.
// Threads:   a worker, with the device locked and inside its sequence lock.
// Errors:    none.
// Source:    kstat_queue(9F).
#pragma once

#include <sys/kstat.h>

#include <cassert>

#include "base/seqlock.hpp"
#include "blockdev/queue/buf.hpp"
#include "kstat/registry/queues.hpp"

namespace blkscope {

inline void enter_waitq(kstat_io_t& io, const Buf& buf) {
    kstat::waitq_enter(io, buf.queued);
}

inline void enter_runq(kstat_io_t& io, const Buf& buf) {
    kstat::waitq_to_runq(io, buf.started);
}

/// Counts the operation and its bytes, too.
inline void leave_runq(kstat_io_t& io, const Buf& buf) {
    assert(buf.in_queues());
    const bool reading = buf.op == Buf::Op::read;
    u_longlong_t& bytes = reading ? io.nread : io.nwritten;
    uint_t& operations = reading ? io.reads : io.writes;
    kstat::runq_exit(io, buf.finished);
    publish(bytes, bytes + buf.moved());
    publish(operations, operations + 1);
}

}  // namespace blkscope
