// The ring: one io_uring and the completions that it brings to one worker.
//
// Everything that a worker waits for is an operation on its ring: backing reads and writes, socket
// receives and sends, timers, hand-overs. Preparing an operation costs no system call; wait()
// submits all that were prepared since the last one and sleeps until something has completed. The
// system calls themselves are the Kernel's (blockdev/ring/kernel.hpp), which a simulator replaces.
//
//     prepare  prepare  prepare ── wait() ──▶ kernel ──▶ dispatch() ─▶ Completion::complete ...
//        ▲                                                                  │ prepares more
//        └──────────────────────────────────────────────────────────────────┘
//
// What several workers share has a lock. A worker takes it when it first needs it in a turn, and
// keeps it until something takes long or the turn ends: so a batch of requests costs one locking.
//
// Ownership: an operation borrows its Completion until complete() has been called for it.
// Threads:   made on any thread; from enable() on, the worker's only, but for post() and wake(),
//            which are any thread's. When the worker has ended, what is left may be removed from it
//            on any one thread.
// Errors:    set-up throws std::runtime_error, enable() std::system_error. Operations report -errno
//            to their Completion.
// Source:    io_uring_setup(2), io_uring_enter(2); liburing 2.3.
#pragma once

#include <liburing.h>
#include <sys/kstat.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <kstat/seqlock.hpp>
#include <vector>

#include "blockdev/ring/completion.hpp"
#include "blockdev/ring/idle_wait.hpp"
#include "blockdev/ring/kernel.hpp"
#include "blockdev/ring/lock.hpp"
#include "blockdev/ring/posted.hpp"
#include "blockdev/ring/uring.hpp"

namespace blkscope {

/// Who wants to know when a turn's operations go to the kernel.
class SubmissionObserver {
  public:
    /// The operations prepared since the last one are submitted at `now` (ticks).
    virtual void submitting(hrtime_t now) = 0;

  protected:
    SubmissionObserver() = default;
    SubmissionObserver(const SubmissionObserver&) = default;
    SubmissionObserver& operator=(const SubmissionObserver&) = default;
    ~SubmissionObserver() = default;
};

class Ring {
  public:
    /// `entries`: operations that one wait() submits at most at once; more are submitted earlier.
    /// With `busy_wait` wait() may spin for a while before it sleeps.
    explicit Ring(unsigned entries, bool busy_wait = true, Kernel& kernel = linux_kernel());
    ~Ring();
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// What it runs on; outlives it.
    [[nodiscard]] Kernel& kernel() const { return uring_.kernel(); }
    /// The kernel's clock.
    [[nodiscard]] hrtime_t now() const { return kernel().now(); }

    /// Makes the calling thread the ring's worker.
    void enable();

    /// Prepares one operation: `prepare` fills the entry, `completion` hears of its end.
    template <class Prepare>
    void prepare(Completion& completion, Prepare prepare) {
        io_uring_sqe* entry = next_entry(1);
        prepare(entry);
        io_uring_sqe_set_data(entry, &completion);
    }

    /// The same for one that begins when the socket is writable, or when `patience` is over, which
    /// must outlive the next wait().
    template <class Prepare>
    void prepare_when_writable(int socket, const __kernel_timespec& patience,
                               Completion& completion, Prepare prepare_entry) {
        link_to_writable(socket, patience);
        prepare(completion, prepare_entry);
    }

    /// Reports the end of an operation that needed no kernel. complete() is called from dispatch(),
    /// never from here, so that a caller in the middle of a list is not re-entered.
    void completed(Completion& completion, int32_t result) { inline_.append(completion, result); }

    /// The same, but in the next turn: for long work that has done a share, and lets others go
    /// first. The next wait() does not sleep.
    void completed_later(Completion& completion, int32_t result) {
        later_.append(completion, result);
    }

    /// Has complete() called in the worker's next turn, which comes at once: for another thread
    /// that is done with what the worker waits for. Not again before that.
    void post(Completion& completion, int32_t result) { posted_.post(completion, result); }

    /// Has the worker's wait() return, even if nothing has completed.
    void wake() { posted_.wake(); }

    /// Takes `lock` for the worker, unless it has it. It has one at a time.
    void lock(Lock& wanted) {
        if (locked_ != &wanted) lock_instead(wanted);
    }
    /// Before anything that takes long, and for what has to be destroyed.
    void unlock() {
        if (locked_ == nullptr) return;
        locked_->unlock();
        locked_ = nullptr;
    }

    /// Submits what was prepared and sleeps until at least one operation has completed; without
    /// `sleep` it only submits. Where that pays it spins for a while before it sleeps.
    void wait(bool sleep = true);

    /// See IdleWait::expect_soon().
    void expect_soon() { idle_wait_.expect_soon(); }

    /// Calls complete() for all that has completed, in the order of its completion.
    void dispatch();

    /// Tells the observer of submissions, of those that someone asked for, until it is removed.
    void add_observer(SubmissionObserver& observer) {
        assert(std::count(observers_.begin(), observers_.end(), &observer) == 0);
        observers_.push_back(&observer);
    }
    void remove_observer(SubmissionObserver& observer) {
        [[maybe_unused]] const auto removed = std::erase(observers_, &observer);
        assert(removed == 1);
    }
    /// The next submission is worth a clock reading: all observers are told of it.
    void announce_submission() { announce_ = true; }

    /// The number of the dispatch() that is going on: what completes in one wake-up has the same.
    [[nodiscard]] uint64_t turn() const { return turn_; }

    /// How often wait() slept and woke with nothing to dispatch; any thread.
    [[nodiscard]] uint32_t empty_wakeups() const { return kstat::observe(empty_wakeups_); }

    /// Its queues: for files that operations name by their index.
    [[nodiscard]] Uring& uring() { return uring_; }

  private:
    io_uring_sqe* next_entry(unsigned together);
    void link_to_writable(int socket, const __kernel_timespec& patience);
    void lock_instead(Lock& wanted);

    Posted posted_;  // outlives uring_, whose kernel may write to what is watched
    Uring uring_;
    IdleWait idle_wait_;
    Lock* locked_ = nullptr;
    CompletionList inline_;
    CompletionList later_;
    std::vector<SubmissionObserver*> observers_;
    bool announce_ = false;
    uint64_t turn_ = 0;
    bool slept_ = false;  // since the last dispatch()
    uint32_t empty_wakeups_ = 0;
};

}  // namespace blkscope
