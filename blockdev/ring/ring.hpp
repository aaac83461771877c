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

#include <atomic>
#include <cstdint>
#include <kstat/seqlock.hpp>
#include <mutex>
#include <vector>

#include "blockdev/ring/busy_wait.hpp"
#include "blockdev/ring/kernel.hpp"
#include "blockdev/ring/lock.hpp"

namespace blkscope {

/// What an operation on a ring reports to.
class Completion {
  public:
    /// `result` as the operation's system call would return it, or -errno.
    virtual void complete(int32_t result) = 0;

  protected:
    Completion() = default;
    Completion(const Completion&) = default;
    Completion& operator=(const Completion&) = default;
    virtual ~Completion() = default;

  private:
    friend class Ring;
    Completion* next_ = nullptr;  // among those that completed without the kernel
    int32_t result_ = 0;
};

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
    /// With `busy_wait` wait() may look out for a while before it sleeps.
    explicit Ring(unsigned entries, bool busy_wait = true, Kernel& kernel = linux_kernel());
    ~Ring();
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// What it runs on; outlives it.
    [[nodiscard]] Kernel& kernel() const { return kernel_; }
    /// The kernel's clock.
    [[nodiscard]] hrtime_t now() const { return kernel_.now(); }

    /// Makes the calling thread the ring's worker.
    void enable();

    /// Prepares one operation: `prepare` fills the entry, `completion` hears of its end.
    template <class Prepare>
    void prepare(Completion& completion, Prepare prepare) {
        io_uring_sqe* entry = next_entry();
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
    void completed(Completion& completion, int32_t result);

    /// The same, but in the next turn: for whoever has done a share of long work, and lets others
    /// go first. The next wait() does not sleep.
    void completed_later(Completion& completion, int32_t result);

    /// Has complete() called in the worker's next turn, which comes at once: for another thread
    /// that is done with what the worker waits for. Not again before that.
    void post(Completion& completion, int32_t result);

    /// Has the worker's wait() return, even if nothing has completed.
    void wake();

    /// Takes `lock` for the worker, unless it has it. It has one at a time.
    void hold(Lock& lock) {
        if (held_ != &lock) take(lock);
    }
    /// Before anything that takes long, and for what has to be destroyed.
    void let_go() {
        if (held_ == nullptr) return;
        held_->unlock();
        held_ = nullptr;
    }

    /// Submits what was prepared and sleeps until at least one operation has completed; without
    /// `sleep` it only submits. Where that pays it looks out for a while before it sleeps.
    void wait(bool sleep = true);

    /// Someone stands still until what it has begun to send is taken: when there is next nothing to
    /// do, more of it is looked out for, however much there was to do before.
    void expect_soon() { expects_soon_ = true; }

    /// Calls complete() for all that has completed, in the order of its completion.
    void dispatch();

    /// Tells the observer of submissions, of those that someone asked for, until it is removed.
    void add_observer(SubmissionObserver& observer) { observers_.push_back(&observer); }
    void remove_observer(SubmissionObserver& observer) { std::erase(observers_, &observer); }
    /// The next submission is worth a clock reading: all observers are told of it.
    void announce_submission() { announce_ = true; }

    /// The number of the dispatch() that is going on: what completes in one wake-up has the same.
    [[nodiscard]] uint64_t turn() const { return turn_; }

    /// How often wait() slept and woke with nothing to dispatch; any thread.
    [[nodiscard]] uint32_t empty_wakeups() const { return kstat::observe(empty_wakeups_); }

    /// Lets operations name `fd` by the index returned, which spares the kernel a look-up each
    /// time. -1 where the table is full; the plain descriptor still serves.
    int register_file(int fd);
    /// Gives the index back; the kernel holds the file open until then. -1 is nothing.
    void unregister_file(int index);

  private:
    /// Completions without the kernel, linked through themselves.
    struct List {
        void append(Completion& completion, int32_t result);
        void take_over(List& other);

        Completion* first = nullptr;
        Completion** end = &first;
    };

    /// The wake-up from other threads; it is watched for as long as there is a worker.
    class Signal final : public Completion {
      public:
        explicit Signal(Ring& ring) : ring_(ring) {}
        void complete(int32_t) override { ring_.watch_signal(); }

      private:
        Ring& ring_;
    };

    io_uring_sqe* next_entry();
    void make_room(unsigned entries);
    bool next_completion(Completion*& completion, int32_t& result);
    void set_completions_aside();
    void link_to_writable(int socket, const __kernel_timespec& patience);
    void tell_observers();
    int submit_and_sleep();
    bool look_out(hrtime_t since);
    void take(Lock& lock);
    void watch_signal();
    void take_over_posted();
    void dispatch_inline();

    Kernel& kernel_;
    io_uring ring_{};
    Lock* held_ = nullptr;
    List inline_;
    List later_;
    std::vector<int> free_files_;  // indexes into the table, the next one last
    std::vector<SubmissionObserver*> observers_;
    bool announce_ = false;
    bool expects_soon_ = false;  // since it was last idle
    uint64_t turn_ = 0;
    bool slept_ = false;  // since the last dispatch()
    uint32_t empty_wakeups_ = 0;
    const bool may_look_out_;
    BusyWait busy_wait_;
    uint64_t idle_turn_ = 0;  // the last one with nothing left to do

    Signal signal_{*this};
    int signal_event_ = -1;
    uint64_t signal_count_ = 0;  // what the event was read as
    std::atomic<bool> any_posted_{false};
    std::mutex posted_mutex_;
    List posted_;
};

}  // namespace blkscope
