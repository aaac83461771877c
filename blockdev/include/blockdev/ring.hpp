// The ring: one io_uring and the completions that it brings to one worker.
//
// Everything that a worker waits for is an operation on its ring: backing reads and writes, socket
// receives and sends, timers, hand-overs. Preparing an operation costs no system call; wait()
// submits all that were prepared since the last one and sleeps until something has completed.
//
//     prepare  prepare  prepare ── wait() ──▶ kernel ──▶ dispatch() ─▶ Completion::complete ...
//        ▲                                                                  │ prepares more
//        └──────────────────────────────────────────────────────────────────┘
//
// Ownership: an operation borrows its Completion until complete() has been called for it.
// Threads:   made on any thread; from enable() on, the worker's only. When the worker has ended,
//            what is left may be removed from it on any one thread.
// Errors:    set-up throws std::runtime_error, enable() std::system_error. Operations report -errno
// to their Completion. Source:    io_uring_setup(2), io_uring_enter(2); liburing 2.3.
#pragma once

#include <liburing.h>
#include <sys/kstat.h>

#include <cstdint>
#include <kstat/seqlock.hpp>
#include <vector>

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
    explicit Ring(unsigned entries);
    ~Ring();
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// Makes the calling thread the ring's worker.
    void enable();

    /// Prepares one operation: `prepare` fills the entry, `completion` hears of its end.
    template <class Prepare>
    void prepare(Completion& completion, Prepare prepare) {
        io_uring_sqe* entry = next_entry();
        prepare(entry);
        io_uring_sqe_set_data(entry, &completion);
    }

    /// Reports the end of an operation that needed no kernel. complete() is called from dispatch(),
    /// never from here, so that a caller in the middle of a list is not re-entered.
    void completed(Completion& completion, int32_t result);

    /// The same, but in the next turn: for whoever has done a share of long work, and lets others
    /// go first. The next wait() does not sleep.
    void completed_later(Completion& completion, int32_t result);

    /// Submits what was prepared and sleeps until at least one operation has completed; without
    /// `sleep` it only submits.
    void wait(bool sleep = true);

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
    io_uring_sqe* next_entry();
    void tell_observers();
    void take_over_later();
    void dispatch_inline();

    io_uring ring_{};
    Completion* inline_first_ = nullptr;
    Completion** inline_end_ = &inline_first_;
    Completion* later_first_ = nullptr;
    Completion** later_end_ = &later_first_;
    std::vector<int> free_files_;  // indexes into the table, the next one last
    std::vector<SubmissionObserver*> observers_;
    bool announce_ = false;
    uint64_t turn_ = 0;
    bool slept_ = false;  // since the last dispatch()
    uint32_t empty_wakeups_ = 0;
};

}  // namespace blkscope
