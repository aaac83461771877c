// Queue accounting: a device's cost per request, so that iostat can separate waiting from service.
//
// A request waits from strategy() to start() and runs from start() to done(). Nothing is summed per
// request. At each change of a queue's length, the interval since the last change is added. A
// reader that subtracts two snapshots gets mean length and busy share. By Little's law it also gets
// mean service time.
//
//     length
//       2 |    +----+              rlentime = the area under the line
//       1 |----+    +----+   +--   rtime    = the width of it above zero
//       0 +--------------+---+---> clock
//
// The functions here take a clock reading, so that one reading serves both queues and the request.
// kstat_waitq_enter() and its sisters in <sys/kstat.h> read the clock.
//
// Units:     `now` in the ticks of the kstat_io_t's times: gethrtime_unscaled() on a live one.
// Ownership: borrows `io` for the call.
// Threads:   one writer at a time. Each field is stored atomically and in program order. A reader
//            may copy meanwhile through a sequence lock (base/seqlock.hpp).
// Errors:    none to report. Leaving an empty queue is the caller's bug, and aborts.
// Source:    kstat_queue(9F), kstat_io(9S).
#pragma once

#include <sys/kstat.h>

#include <cassert>

#include "base/seqlock.hpp"

// The C struct takes the name `kstat` at global scope, so this namespace is inside the project's.
namespace blkscope::kstat {

namespace detail {

struct Queue {
    uint_t& length;
    hrtime_t& time;
    hrtime_t& length_time;
    hrtime_t& last_update;
};

inline Queue waitq(kstat_io_t& io) {
    return {io.wcnt, io.wtime, io.wlentime, io.wlastupdate};
}
inline Queue runq(kstat_io_t& io) {
    return {io.rcnt, io.rtime, io.rlentime, io.rlastupdate};
}

// The ending interval is charged at the length that the queue had during it. Sums wrap, as the
// 32-bit counts do: any process with write access may set a writable kstat's times.
inline void charge(const Queue& queue, hrtime_t now) {
    const auto wrapped = [](hrtime_t time) { return static_cast<uint64_t>(time); };
    const uint64_t delta = wrapped(now) - wrapped(queue.last_update);
    publish(queue.last_update, now);
    if (queue.length == 0) return;
    publish(queue.length_time,
            static_cast<hrtime_t>(wrapped(queue.length_time) + delta * queue.length));
    publish(queue.time, static_cast<hrtime_t>(wrapped(queue.time) + delta));
}

inline void enter(const Queue& queue, hrtime_t now) {
    charge(queue, now);
    publish(queue.length, queue.length + 1);
}

inline void leave(const Queue& queue, hrtime_t now) {
    assert(queue.length > 0);
    charge(queue, now);
    publish(queue.length, queue.length - 1);
}

}  // namespace detail

inline void waitq_enter(kstat_io_t& io, hrtime_t now) {
    detail::enter(detail::waitq(io), now);
}
inline void waitq_exit(kstat_io_t& io, hrtime_t now) {
    detail::leave(detail::waitq(io), now);
}
inline void runq_enter(kstat_io_t& io, hrtime_t now) {
    detail::enter(detail::runq(io), now);
}
inline void runq_exit(kstat_io_t& io, hrtime_t now) {
    detail::leave(detail::runq(io), now);
}

/// Moves one request from the wait queue to the run queue at one moment. No time between them is
/// lost or counted twice.
inline void waitq_to_runq(kstat_io_t& io, hrtime_t now) {
    waitq_exit(io, now);
    runq_enter(io, now);
}

/// Returns a started request to the wait queue.
inline void runq_back_to_waitq(kstat_io_t& io, hrtime_t now) {
    runq_exit(io, now);
    waitq_enter(io, now);
}

/// A copy of a kstat_io_t that its writer may be changing: for use inside Seqlock::read.
inline kstat_io_t observe(const kstat_io_t& io) {
    kstat_io_t copy{};
    copy.nread = observe(io.nread);
    copy.nwritten = observe(io.nwritten);
    copy.reads = observe(io.reads);
    copy.writes = observe(io.writes);
    copy.wtime = observe(io.wtime);
    copy.wlentime = observe(io.wlentime);
    copy.wlastupdate = observe(io.wlastupdate);
    copy.rtime = observe(io.rtime);
    copy.rlentime = observe(io.rlentime);
    copy.rlastupdate = observe(io.rlastupdate);
    copy.wcnt = observe(io.wcnt);
    copy.rcnt = observe(io.rcnt);
    return copy;
}

}  // namespace blkscope::kstat
