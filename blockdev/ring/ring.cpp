#include "blockdev/ring/ring.hpp"

#include <poll.h>

#include "base/clock.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

// A worker that never sleeps looks at its clock once in so many turns.
constexpr uint64_t turns_per_look = 64;

// The clock is calibrated before the first device on a ring reads it.
uint64_t calibrated_pause(const Kernel& kernel) {
    calibrate_clock();
    return static_cast<uint64_t>(kernel_ticks(kernel, trusted_pause_ns));
}

}  // namespace

Ring::Ring(unsigned entries, bool busy_wait, Kernel& kernel)
    : posted_(kernel),
      uring_(kernel, entries),
      idle_wait_(busy_wait),
      trusted_pause_(calibrated_pause(kernel)) {}

Ring::~Ring() {
    assert(locked_ == nullptr);
    assert(observers_.empty());
    assert(alarms_.empty());
}

void Ring::enable() {
    uring_.enable();
    posted_.watch(*next_entry(1));
}

// The first of `together` entries that are submitted together. The kernel may refuse entries until
// some completions are taken; those are kept here for the next dispatch().
io_uring_sqe* Ring::next_entry(unsigned together) {
    assert(together > 0);
    while (uring_.room() < together) {
        unlock();
        if (uring_.submit(0) >= 0) continue;
        Completion* completion = nullptr;
        int32_t result = 0;
        while (uring_.next(completion, result)) {
            if (completion != nullptr) inline_.append(*completion, result);
        }
    }
    return uring_.entry();
}

// The next entry begins when these two have ended. All three are in one submission, because a link
// ends with it. A hard link also starts the next entry when the time has run out.
//
// The timeout ends the wait that has its user_data, so each wait has one of its own. Of several waits
// with the same one, the newest would end. (Linux io_uring/timeout.c, io_req_task_link_timeout();
// seen with 6.18.)
void Ring::link_to_writable(int socket, const __kernel_timespec& patience,
                            const Completion& completion) {
    io_uring_sqe* entry = next_entry(3);
    io_uring_prep_poll_add(entry, socket, POLLOUT);
    entry->flags |= IOSQE_IO_HARDLINK;
    Uring::set_unreported(*entry, completion);
    entry = next_entry(2);
    io_uring_prep_link_timeout(entry, const_cast<__kernel_timespec*>(&patience), 0);
    entry->flags |= IOSQE_IO_HARDLINK;
    io_uring_sqe_set_data(entry, nullptr);
}

// One lock at a time: two workers that each had one and waited for the other would wait for ever.
void Ring::lock_instead(Lock& wanted) {
    unlock();
    wanted.lock();
    locked_ = &wanted;
}

void Ring::wait(bool sleep) {
    if (announce_) {
        announce_ = false;
        const hrtime_t submitted = now();  // one clock reading for the whole turn
        for (SubmissionObserver* observer : observers_) observer->submitting(submitted);
    }
    unlock();
    slept_ = sleep && inline_.empty() && later_.empty();
    if (slept_ && !alarms_.empty()) return wait_for_alarm();
    // If the kernel refuses a submission, the next turn tries again.
    slept_ ? idle_wait_.wait(uring_, turn_) : uring_.submit(0);
}

// Before a precise alarm the worker spins, because waking takes too long to be exact.
void Ring::wait_for_alarm() {
    const Alarms::Next next = alarms_.next();
    const bool spins = next.precise && idle_wait_.may_spin();
    const hrtime_t until = spins ? next.when - kernel_ticks(kernel(), Alarms::lead_ns) : next.when;
    const hrtime_t left = until - now();
    left > 0 ? idle_wait_.wait(uring_, turn_, until, kernel_ns(kernel(), left)) : uring_.submit(0);
    // A signal may have ended the sleep early.
    if (spins && now() >= until) idle_wait_.spin_until(uring_, next.when);
}

// A resume or a migration moves the processor's counter. The comparison itself is rare.
hrtime_t Ring::corrected_now() {
    if (!planted("clock-unchecked")) kernel().correct_clock();
    return checked_ = kernel().now();
}

// An alarm is due by the kernel's own clock, or not at all.
bool Ring::call_alarms() {
    if (alarms_.empty() || alarms_.next().when > now()) return false;
    kernel().correct_clock();
    return alarms_.call_due(now());
}

void Ring::dispatch() {
    ++turn_;
    // The longest waits of a worker are its sleeps, so it looks after each.
    if (slept_ || turn_ % turns_per_look == 0) static_cast<void>(now());
    inline_.take_over(later_);
    bool brought_something = !inline_.empty();
    Completion* completion = nullptr;
    int32_t result = 0;
    while (uring_.next(completion, result)) {
        brought_something = true;
        if (completion != nullptr) completion->complete(result);
    }
    if (posted_.unwatched()) posted_.watch(*next_entry(1));
    // After the loop, because the loop may have taken the signal of the event. No second signal
    // comes for completions that were posted before it.
    posted_.take_over(inline_);
    if (call_alarms()) brought_something = true;
    while (!inline_.empty()) inline_.complete_first();
    if (slept_ && !brought_something) publish(empty_wakeups_, empty_wakeups_ + 1);
    slept_ = false;
}

}  // namespace blkscope
