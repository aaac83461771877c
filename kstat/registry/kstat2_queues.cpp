// The six queue functions: one clock reading, and the arithmetic of kstat/registry/queues.hpp on
// pairs.
//
// The times are kept in nanoseconds. Some providers compute their pairs in ks2_update; others call
// these functions. Both then use the same unit.
#include <sys/kstat2.h>

#include <cassert>

#include "base/clock.hpp"
#include "base/seqlock.hpp"

namespace {

using blkscope::publish;

struct Queue {
    uint64_t& length;
    uint64_t& time;
    uint64_t& length_time;
    uint64_t& last_update;
};

Queue waitq(kstat2_io_t& io) {
    return {KSTAT2_IO_WCNT(&io), KSTAT2_IO_WTIME(&io), KSTAT2_IO_WLENTIME(&io),
            KSTAT2_IO_WLASTUPDATE(&io)};
}

Queue runq(kstat2_io_t& io) {
    return {KSTAT2_IO_RCNT(&io), KSTAT2_IO_RTIME(&io), KSTAT2_IO_RLENTIME(&io),
            KSTAT2_IO_RLASTUPDATE(&io)};
}

uint64_t now() {
    return static_cast<uint64_t>(blkscope::to_ns(gethrtime_unscaled()));
}

// The ending interval is charged at the length that the queue had during it.
void charge(const Queue& queue, uint64_t until) {
    const uint64_t delta = until - queue.last_update;
    publish(queue.last_update, until);
    if (queue.length == 0) return;
    publish(queue.length_time, queue.length_time + delta * queue.length);
    publish(queue.time, queue.time + delta);
}

void enter(const Queue& queue, uint64_t until) {
    charge(queue, until);
    publish(queue.length, queue.length + 1);
}

void leave(const Queue& queue, uint64_t until) {
    assert(queue.length > 0);
    charge(queue, until);
    publish(queue.length, queue.length - 1);
}

}  // namespace

extern "C" {

void kstat2_waitq_enter(kstat2_io_t* kiop) {
    enter(waitq(*kiop), now());
}

void kstat2_waitq_exit(kstat2_io_t* kiop) {
    leave(waitq(*kiop), now());
}

void kstat2_runq_enter(kstat2_io_t* kiop) {
    enter(runq(*kiop), now());
}

void kstat2_runq_exit(kstat2_io_t* kiop) {
    leave(runq(*kiop), now());
}

// One moment for both queues: no time between them is lost or counted twice.
void kstat2_waitq_to_runq(kstat2_io_t* kiop) {
    const uint64_t moment = now();
    leave(waitq(*kiop), moment);
    enter(runq(*kiop), moment);
}

void kstat2_runq_back_to_waitq(kstat2_io_t* kiop) {
    const uint64_t moment = now();
    leave(runq(*kiop), moment);
    enter(waitq(*kiop), moment);
}

}  // extern "C"
