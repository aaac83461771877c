#include "blockdev/ring/idle_wait.hpp"

#include <sched.h>

#include <algorithm>
#include <cassert>

#include "base/clock.hpp"

namespace blkscope {
namespace {

// One request of one client takes at most four turns: header, payload, data, reply. A worker that
// is busy for longer has several requests. Sleep lets requests gather, which costs less per
// request.
constexpr uint64_t busy_turns_max = 4;

}  // namespace

int IdleWait::wait(Uring& uring, uint64_t turn, hrtime_t until, hrtime_t ns_max) {
    assert(turn >= idle_turn_);
    if (!may_spin_) return sleep(uring, until, ns_max);
    const int submitted = uring.submit(0);
    if (submitted < 0 || uring.ready()) return submitted;
    const bool busy = turn - idle_turn_ > busy_turns_max && !expects_soon_;
    expects_soon_ = false;
    idle_turn_ = turn;
    if (busy) return sleep(uring, until, ns_max);
    const hrtime_t since = uring.kernel().now();
    if (busy_wait_.pays()) return spin(uring, since, until) ? 0 : sleep(uring, until, ns_max);
    const int error = sleep(uring, until, ns_max);
    // A sleep that an alarm has ended says nothing about the clients.
    if (until != Alarm::never && !uring.ready()) return error;
    busy_wait_.slept(static_cast<uint64_t>(to_ns(uring.kernel().now() - since)));
    return error;
}

// Without an alarm this is one system call, as most sleeps are.
int IdleWait::sleep(Uring& uring, hrtime_t until, hrtime_t ns_max) {
    if (until == Alarm::never) return uring.submit(1);
    Kernel& kernel = uring.kernel();
    const hrtime_t left = kernel_ns(kernel, std::max<hrtime_t>(until - kernel.now(), 0));
    const hrtime_t ns = std::min(left, ns_max);
    return ns > 0 ? uring.submit(1, ns) : uring.submit(0);
}

// True if an operation has completed, or if `until` has come. sched_yield() lets other threads of
// this processor run, and the client may be one of them. Without another thread it costs a fraction
// of a microsecond.
bool IdleWait::spin(Uring& uring, hrtime_t since, hrtime_t until) {
    assert(may_spin_);
    uint64_t ns = 0;
    bool found = false;
    while (!found && ns <= BusyWait::spin_ns_max) {
        sched_yield();
        uring.take_held_back();
        found = uring.ready();
        const hrtime_t now = uring.kernel().now();
        ns = static_cast<uint64_t>(to_ns(now - since));
        if (!found && now >= until) return true;
    }
    busy_wait_.spun(ns, found);
    return found;
}

void IdleWait::spin_until(Uring& uring, hrtime_t moment) {
    const hrtime_t since = uring.kernel().now();
    const auto lasts = [&](hrtime_t now) { return since <= now && now < moment; };
    while (!uring.ready() && lasts(uring.kernel().now())) {
        sched_yield();
        uring.take_held_back();
    }
}

}  // namespace blkscope
