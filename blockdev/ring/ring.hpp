// The ring: one io_uring and the completions that it brings to one worker.
//
// Everything that a worker waits for is an operation on its ring. Examples are reads and writes of
// a backing, receives and sends of a socket, timers and messages of other threads. Preparing an
// operation costs no system call. wait() submits all operations that were prepared since the last
// wait(), and sleeps until one has completed. The Kernel makes the system calls
// (blockdev/ring/kernel.hpp), and a simulator replaces it.
//
//     prepare  prepare  prepare ── wait() ──▶ kernel ──▶ dispatch() ─▶ Completion::complete ...
//        ▲                                                                  │ prepares more
//        └──────────────────────────────────────────────────────────────────┘
//
// Data that several workers share has a Lock. A worker locks it at its first use in a turn. The
// lock stays until the worker does something that takes long, or until the turn ends. A batch of
// requests therefore costs one locking.
//
// Units:     ticks of the kernel's clock, results as Completion::complete() gets them.
// Ownership: an operation borrows its Completion until complete() has been called for it.
// Threads:   constructed on any thread. From enable() on all functions are the worker's, except
//            post() and wake(), which any thread may call. When the worker has ended, any one
//            thread may remove observers and files.
// Errors:    set-up throws std::runtime_error, enable() std::system_error. Operations report -errno
//            to their Completion.
// Source:    io_uring_setup(2), io_uring_enter(2); liburing 2.3.
#pragma once

#include <liburing.h>
#include <sys/kstat.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "base/seqlock.hpp"
#include "blockdev/ring/alarm.hpp"
#include "blockdev/ring/completion.hpp"
#include "blockdev/ring/idle_wait.hpp"
#include "blockdev/ring/kernel.hpp"
#include "blockdev/ring/lock.hpp"
#include "blockdev/ring/posted.hpp"
#include "blockdev/ring/uring.hpp"

namespace blkscope {

/// An object that is called when a turn's operations go to the kernel, as for the submit timer.
class SubmissionObserver {
  public:
    /// The operations that were prepared since the last submission are submitted at `now` (ticks).
    virtual void submitting(hrtime_t now) = 0;

  protected:
    SubmissionObserver& operator=(SubmissionObserver&&) = delete;
    ~SubmissionObserver() = default;
};

class Ring {
  public:
    /// `entries`: the most operations that one wait() submits. When more are prepared, the ring
    /// submits before wait(). With `busy_wait` wait() may spin for a while before it sleeps.
    /// `kernel` outlives the ring.
    explicit Ring(unsigned entries, bool busy_wait = true, Kernel& kernel = linux_kernel());
    ~Ring();
    Ring& operator=(Ring&&) = delete;

    /// The kernel that makes the ring's system calls; it outlives the ring.
    [[nodiscard]] Kernel& kernel() const { return uring_.kernel(); }
    /// The kernel's clock. It is compared first if it has moved by more than trusted_pause_ns since the last
    /// comparison, or back.
    [[nodiscard]] hrtime_t now() {
        const hrtime_t now = kernel().now();
        const uint64_t since = static_cast<uint64_t>(now) - static_cast<uint64_t>(checked_);
        return since <= trusted_pause_ ? now : corrected_now();
    }

    /// Makes the calling thread the ring's worker. Once.
    void enable();

    /// Prepares one operation. `prepare` fills in the entry. When the operation has ended,
    /// dispatch() calls `completion.complete()`.
    template <class Prepare>
    void prepare(Completion& completion, Prepare prepare) {
        io_uring_sqe* entry = next_entry(1);
        prepare(entry);
        io_uring_sqe_set_data(entry, &completion);
    }

    /// Prepares an operation that begins when the socket is writable, or after `patience`.
    /// `patience` must outlive the next wait().
    template <class Prepare>
    void prepare_when_writable(int socket, const __kernel_timespec& patience,
                               Completion& completion, Prepare prepare_entry) {
        link_to_writable(socket, patience, completion);
        prepare(completion, prepare_entry);
    }

    /// Reports the end of an operation that needed no kernel. dispatch() calls complete(); this
    /// function never does, so that a caller in the middle of a list is not re-entered.
    void completed(Completion& completion, int32_t result) { inline_.append(completion, result); }

    /// The same, but in the next turn. Long work calls it after a share, so that other requests get
    /// their turn. The next wait() does not sleep.
    void completed_later(Completion& completion, int32_t result) {
        later_.append(completion, result);
    }

    /// The same from another thread: the worker calls complete() in its next turn, which comes at
    /// once. A completion is posted again only after that call.
    void post(Completion& completion, int32_t result) { posted_.post(completion, result); }

    /// Makes the worker's wait() return, even if nothing has completed.
    void wake() { posted_.wake(); }

    /// Locks `wanted` for the worker, unless it is locked already. A worker has one lock at a time:
    /// an earlier one is unlocked first.
    void lock(Lock& wanted) {
        if (locked_ != &wanted) lock_instead(wanted);
    }
    /// Unlocks the lock, if there is one. Called before work that takes long, and before the lock's
    /// owner is destroyed.
    void unlock() {
        if (locked_ == nullptr) return;
        locked_->unlock();
        locked_ = nullptr;
    }

    /// Submits all prepared operations and unlocks. Then sleeps until at least one operation has
    /// completed, and spins before if that pays. Without `sleep` it returns at once.
    void wait(bool sleep = true);

    /// See IdleWait::expect_soon().
    void expect_soon() { idle_wait_.expect_soon(); }

    /// Calls complete() for all completed operations. The kernel's come first, in the order of their
    /// completion. The operations of completed(), completed_later() and post() follow.
    void dispatch();

    /// Calls the observer at each submission that announce_submission() asked for, until it is
    /// removed. Borrows the observer.
    void add_observer(SubmissionObserver& observer) {
        assert(std::count(observers_.begin(), observers_.end(), &observer) == 0);
        observers_.push_back(&observer);
    }
    void remove_observer(SubmissionObserver& observer) {
        [[maybe_unused]] const auto removed = std::erase(observers_, &observer);
        assert(removed == 1);
    }
    /// Calls all observers at the next submission, which reads the clock once for all of them.
    void announce_submission() { announce_ = true; }

    /// Calls the alarm at `when` (ticks), from dispatch(); `never` unsets it. With `precise` the
    /// worker may spin before that moment. Borrows the alarm until it is destroyed.
    void set_alarm(Alarm& alarm, hrtime_t when, bool precise) { alarms_.set(alarm, when, precise); }

    /// The number of the current dispatch(). Operations that complete in one wake-up have the same.
    [[nodiscard]] uint64_t turn() const { return turn_; }

    /// How often wait() slept and woke with nothing to dispatch. Any thread may call it.
    [[nodiscard]] uint32_t empty_wakeups() const { return observe(empty_wakeups_); }

    /// The ring's queues and its table of files, for operations that name a file by its index.
    [[nodiscard]] Uring& uring() { return uring_; }

  private:
    io_uring_sqe* next_entry(unsigned together);
    void link_to_writable(int socket, const __kernel_timespec& patience,
                          const Completion& completion);
    void lock_instead(Lock& wanted);
    void wait_for_alarm();
    hrtime_t corrected_now();
    bool call_alarms();

    Posted posted_;  // outlives uring_: the kernel may write to the memory of a watched event
    Uring uring_;
    IdleWait idle_wait_;
    Alarms alarms_;
    Lock* locked_ = nullptr;  // by this worker
    CompletionList inline_;   // for this turn
    CompletionList later_;    // for the next turn
    std::vector<SubmissionObserver*> observers_;
    bool announce_ = false;
    const uint64_t trusted_pause_;  // ticks of trusted_pause_ns
    hrtime_t checked_ = 0;          // when the clock was last compared
    uint64_t turn_ = 0;
    bool slept_ = false;  // since the last dispatch()
    uint32_t empty_wakeups_ = 0;
};

}  // namespace blkscope
