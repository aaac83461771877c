// Queue accounting: the arithmetic that a device runs per request, so that iostat can tell waiting
// from service.
//
// A request waits from strategy() to start() and runs from start() to done(). Nothing is summed per
// request. At each change of a queue's length, the sums grow by the interval since the last change.
// The difference of two snapshots gives the mean length and the busy share. Little's law then gives
// the mean service time.
//
//     length
//       2 |    +----+              rlentime = the area under the line
//       1 |----+    +----+   +--   rtime    = the width of it above zero
//       0 +--------------+---+---> clock
//
// The functions here take a clock reading, so one reading serves both queues and the request.
// kstat_waitq_enter(), kstat2_waitq_enter() and their sisters in <sys/kstat.h> and <sys/kstat2.h>
// read the clock themselves.
//
// Units:     `now` in the unit of the queues' times. A live kstat_io_t has the ticks of
//            gethrtime_unscaled(), a kstat2_io_t has nanoseconds.
// Ownership: borrows `io` for the call.
// Threads:   one writer at a time. Each field is stored atomically and in program order. A reader
//            may copy at the same time through a sequence lock (base/seqlock.hpp).
// Errors:    none to report. An exit from an empty queue is the caller's bug, and aborts.
// Source:    kstat_queue(9F), kstat_io(9S).
#pragma once

#include <sys/kstat.h>
#include <sys/kstat2.h>

#include <algorithm>
#include <cassert>

#include "base/seqlock.hpp"

// The C struct has the name `kstat` at global scope, so this namespace is inside the project's.
namespace blkscope::kstat {
namespace detail {

// One of the two queues of a kstat_io_t or of a kstat2_io_t.
template <class Length, class Time>
struct Queue {
    Length& length;     // requests
    Time& time;         // sum of the times with a length above zero
    Time& length_time;  // integral of the length: requests times time
    Time& last_update;  // the last change of the length
};

inline Queue<uint_t, hrtime_t> waitq(kstat_io_t& io) {
    return {io.wcnt, io.wtime, io.wlentime, io.wlastupdate};
}
inline Queue<uint_t, hrtime_t> runq(kstat_io_t& io) {
    return {io.rcnt, io.rtime, io.rlentime, io.rlastupdate};
}
inline Queue<uint64_t, uint64_t> waitq(kstat2_io_t& io) {
    return {KSTAT2_IO_WCNT(&io), KSTAT2_IO_WTIME(&io), KSTAT2_IO_WLENTIME(&io),
            KSTAT2_IO_WLASTUPDATE(&io)};
}
inline Queue<uint64_t, uint64_t> runq(kstat2_io_t& io) {
    return {KSTAT2_IO_RCNT(&io), KSTAT2_IO_RTIME(&io), KSTAT2_IO_RLENTIME(&io),
            KSTAT2_IO_RLASTUPDATE(&io)};
}

// Charges the interval that ends now at the length that held during the interval. Sums wrap, as the
// 32-bit counts do: a reader may write any time into a writable kstat.
template <class Length, class Time>
inline void charge(const Queue<Length, Time>& queue, Time now) {
    const auto wrapped = [](Time time) { return static_cast<uint64_t>(time); };
    const uint64_t delta = wrapped(now) - wrapped(queue.last_update);
    publish(queue.last_update, now);
    if (queue.length == 0) return;
    const uint64_t length_time = wrapped(queue.length_time) + delta * queue.length;
    const uint64_t time = wrapped(queue.time) + delta;
    publish(queue.length_time, static_cast<Time>(length_time));
    publish(queue.time, static_cast<Time>(time));
}

// Charges a reader's copy of a queue up to `now`; an empty queue keeps its last update. Nothing is
// charged if the last update is later: the writer made a change after the clock was read.
template <class Length, class Time>
inline void charge_until(const Queue<Length, Time>& queue, hrtime_t now) {
    if (queue.length == 0) return;
    charge(queue, std::max(static_cast<Time>(now), queue.last_update));
}

template <class Length, class Time>
inline void enter(const Queue<Length, Time>& queue, hrtime_t now) {
    charge(queue, static_cast<Time>(now));
    publish(queue.length, queue.length + 1);
}

template <class Length, class Time>
inline void leave(const Queue<Length, Time>& queue, hrtime_t now) {
    assert(queue.length > 0);
    charge(queue, static_cast<Time>(now));
    publish(queue.length, queue.length - 1);
}

}  // namespace detail

/// Adds one request to the wait queue.
template <class Io>
inline void waitq_enter(Io& io, hrtime_t now) {
    detail::enter(detail::waitq(io), now);
}
/// Removes one request, which was not started, from the wait queue.
template <class Io>
inline void waitq_exit(Io& io, hrtime_t now) {
    detail::leave(detail::waitq(io), now);
}
/// Adds one request to the run queue, which did not wait.
template <class Io>
inline void runq_enter(Io& io, hrtime_t now) {
    detail::enter(detail::runq(io), now);
}
/// Removes one finished request from the run queue.
template <class Io>
inline void runq_exit(Io& io, hrtime_t now) {
    detail::leave(detail::runq(io), now);
}

/// Moves one request from the wait queue to the run queue at one moment. No time between the queues
/// is lost or counted twice.
template <class Io>
inline void waitq_to_runq(Io& io, hrtime_t now) {
    waitq_exit(io, now);
    runq_enter(io, now);
}

/// Moves a started request back to the wait queue, at one moment.
template <class Io>
inline void runq_back_to_waitq(Io& io, hrtime_t now) {
    runq_exit(io, now);
    waitq_enter(io, now);
}

using blkscope::observe;

/// Copies a kstat_io_t while its writer may change the fields: for use inside Seqlock::read. The
/// fields of a copy made elsewhere may be of different moments.
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
