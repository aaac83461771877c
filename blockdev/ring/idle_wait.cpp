#include "blockdev/ring/idle_wait.hpp"

#include <sched.h>

#include <cassert>

#include "base/clock.hpp"

namespace blkscope {
namespace {

// One request of one client takes at most four turns: header, payload, data, reply. A worker that
// is busy for longer has several requests. Sleep lets requests gather, which costs less per
// request.
constexpr uint64_t busy_turns_max = 4;

}  // namespace

int IdleWait::wait(Uring& uring, uint64_t turn) {
    assert(turn >= idle_turn_);
    if (!may_spin_) return uring.submit(1);
    const int submitted = uring.submit(0);
    if (submitted < 0 || uring.ready()) return submitted;
    const bool busy = turn - idle_turn_ > busy_turns_max && !expects_soon_;
    expects_soon_ = false;
    idle_turn_ = turn;
    if (busy) return uring.submit(1);
    const hrtime_t since = uring.kernel().now();
    if (busy_wait_.pays()) return spin(uring, since) ? 0 : uring.submit(1);
    const int error = uring.submit(1);
    busy_wait_.slept(static_cast<uint64_t>(to_ns(uring.kernel().now() - since)));
    return error;
}

// True if an operation has completed. sched_yield() lets other threads of this processor run, and
// the client may be one of them. Without another thread it costs a fraction of a microsecond.
bool IdleWait::spin(Uring& uring, hrtime_t since) {
    assert(may_spin_);
    uint64_t ns = 0;
    bool found = false;
    while (!found && ns <= BusyWait::spin_ns_max) {
        sched_yield();
        uring.take_held_back();
        found = uring.ready();
        ns = static_cast<uint64_t>(to_ns(uring.kernel().now() - since));
    }
    busy_wait_.spun(ns, found);
    return found;
}

}  // namespace blkscope
