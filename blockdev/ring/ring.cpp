#include "blockdev/ring/ring.hpp"

#include <poll.h>
#include <sched.h>

#include <cassert>
#include <cerrno>
#include <kstat/clock.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

namespace blkscope {
namespace {

constexpr int file_table_size = 64;

// A client with one request at a time leaves a worker idle after so many turns: header, payload,
// data, reply. With more under way, requests that queue up while it sleeps are served for less.
constexpr uint64_t busy_turns_max = 4;

}  // namespace

Ring::Ring(unsigned entries, bool busy_wait, Kernel& kernel)
    : kernel_(kernel), may_look_out_(busy_wait) {
    assert(entries > 0);
    kstat::calibrate_clock();  // before the first device on it takes a time
    const int error = kernel_.set_up(entries, ring_);
    if (error < 0) {
        throw std::runtime_error("set up io_uring: " + std::generic_category().message(-error) +
                                 "; see that kernel.io_uring_disabled is 0 and no container's "
                                 "seccomp profile forbids it");
    }
    signal_event_ = kernel_.open_event();
    if (signal_event_ < 0) {
        kernel_.tear_down(ring_);
        throw std::runtime_error("eventfd: " + std::generic_category().message(-signal_event_));
    }
    // Without a table (a kernel before 5.19) operations name plain descriptors.
    if (kernel_.reserve_files(ring_, file_table_size) < 0) return;
    for (int index = file_table_size; index-- > 0;) free_files_.push_back(index);
}

Ring::~Ring() {
    assert(held_ == nullptr);
    kernel_.tear_down(ring_);
    kernel_.close(signal_event_);
}

void Ring::enable() {
    const int error = kernel_.enable(ring_);
    if (error < 0) throw std::system_error(-error, std::generic_category(), "enable io_uring");
    watch_signal();
}

// EBUSY: the kernel takes nothing more until some completions are taken. The next dispatch() has
// those that are set aside here.
void Ring::make_room(unsigned entries) {
    while (io_uring_sq_space_left(&ring_) < entries) {
        let_go();
        if (kernel_.submit(ring_, 0) >= 0) continue;
        set_completions_aside();
        kernel_.take_completions(ring_);
    }
}

io_uring_sqe* Ring::next_entry() {
    make_room(1);
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    assert(entry != nullptr);
    return entry;
}

// The next entry begins when these two have ended: a link does not reach beyond one submission, and
// a hard one holds after the time has run out, too.
void Ring::link_to_writable(int socket, const __kernel_timespec& patience) {
    make_room(3);
    io_uring_sqe* entry = next_entry();
    io_uring_prep_poll_add(entry, socket, POLLOUT);
    entry->flags |= IOSQE_IO_HARDLINK;
    io_uring_sqe_set_data(entry, nullptr);
    entry = next_entry();
    io_uring_prep_link_timeout(entry, const_cast<__kernel_timespec*>(&patience), 0);
    entry->flags |= IOSQE_IO_HARDLINK;
    io_uring_sqe_set_data(entry, nullptr);
}

void Ring::List::append(Completion& completion, int32_t result) {
    completion.result_ = result;
    completion.next_ = nullptr;
    *end = &completion;
    end = &completion.next_;
}

void Ring::List::take_over(List& other) {
    if (other.first == nullptr) return;
    *end = other.first;
    end = other.end;
    other.first = nullptr;
    other.end = &other.first;
}

void Ring::completed(Completion& completion, int32_t result) {
    inline_.append(completion, result);
}

void Ring::completed_later(Completion& completion, int32_t result) {
    later_.append(completion, result);
}

// ---- From other threads ----

void Ring::post(Completion& completion, int32_t result) {
    bool first = false;
    {
        const std::lock_guard lock(posted_mutex_);
        first = posted_.first == nullptr;
        posted_.append(completion, result);
        any_posted_.store(true, std::memory_order_release);
    }
    if (first) wake();  // for the others it is awake already, or about to be
}

void Ring::wake() {
    kernel_.signal_event(signal_event_);
}

void Ring::watch_signal() {
    prepare(signal_, [&](io_uring_sqe* entry) {
        io_uring_prep_read(entry, signal_event_, &signal_count_, sizeof signal_count_, 0);
    });
}

void Ring::take_over_posted() {
    if (!any_posted_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(posted_mutex_);
    any_posted_.store(false, std::memory_order_relaxed);
    inline_.take_over(posted_);
}

// ---- The worker's turn ----

// One at a time: two workers that each held one and wanted the other's would wait for ever.
void Ring::take(Lock& lock) {
    let_go();
    lock.lock();
    held_ = &lock;
}

// One clock reading for all of the turn.
void Ring::tell_observers() {
    announce_ = false;
    const hrtime_t submitted = now();
    for (SubmissionObserver* observer : observers_) observer->submitting(submitted);
}

void Ring::wait(bool sleep) {
    if (announce_) tell_observers();
    let_go();
    slept_ = sleep && inline_.first == nullptr && later_.first == nullptr;
    const int submitted = slept_ ? submit_and_sleep() : kernel_.submit(ring_, 0);
    // EINTR, EAGAIN (memory), EBUSY (completions to be taken first): the next turn tries again.
    assert(submitted >= 0 || submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY);
}

// What is submitted often completes at once: that was no idle wait, and says nothing of the next.
int Ring::submit_and_sleep() {
    if (!may_look_out_) return kernel_.submit(ring_, 1);
    const int submitted = kernel_.submit(ring_, 0);
    if (submitted < 0 || io_uring_cq_ready(&ring_) > 0) return submitted;
    const bool busy = turn_ - idle_turn_ > busy_turns_max && !expects_soon_;
    expects_soon_ = false;
    idle_turn_ = turn_;
    if (busy) return kernel_.submit(ring_, 1);
    const hrtime_t since = now();
    if (busy_wait_.pays()) return look_out(since) ? 0 : kernel_.submit(ring_, 1);
    const int error = kernel_.submit(ring_, 1);
    busy_wait_.slept(static_cast<uint64_t>(kstat::to_ns(now() - since)));
    return error;
}

// True if something has completed. It makes way for whoever is ready to run here, who may be the
// client that it waits for: alone on the processor that costs a fraction of a microsecond.
bool Ring::look_out(hrtime_t since) {
    uint64_t ns = 0;
    bool found = false;
    while (!found && ns <= BusyWait::look_ns_max) {
        sched_yield();
        if ((IO_URING_READ_ONCE(*ring_.sq.kflags) & IORING_SQ_TASKRUN) != 0) {
            kernel_.take_completions(ring_);
        }
        found = io_uring_cq_ready(&ring_) > 0;
        ns = static_cast<uint64_t>(kstat::to_ns(now() - since));
    }
    busy_wait_.looked(ns, found);
    return found;
}

// Takes one completion out of the queue; with nullptr one that nobody waits for. Where the queue is
// empty the kernel is asked for those that it holds back, once.
bool Ring::next_completion(Completion*& completion, int32_t& result) {
    if (io_uring_cq_ready(&ring_) == 0) {
        constexpr unsigned held_back = IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW;
        if ((IO_URING_READ_ONCE(*ring_.sq.kflags) & held_back) == 0) return false;
        kernel_.take_completions(ring_);
        if (io_uring_cq_ready(&ring_) == 0) return false;
    }
    const unsigned head = *ring_.cq.khead;
    const io_uring_cqe& entry = ring_.cq.cqes[head & *ring_.cq.kring_mask];
    completion = static_cast<Completion*>(io_uring_cqe_get_data(&entry));
    result = entry.res;
    io_uring_cq_advance(&ring_, 1);
    return true;
}

void Ring::set_completions_aside() {
    Completion* completion = nullptr;
    int32_t result = 0;
    while (next_completion(completion, result)) {
        if (completion != nullptr) inline_.append(*completion, result);
    }
}

void Ring::dispatch() {
    ++turn_;
    inline_.take_over(later_);
    bool brought_something = inline_.first != nullptr;
    Completion* completion = nullptr;
    int32_t result = 0;
    while (next_completion(completion, result)) {
        brought_something = true;
        if (completion != nullptr) completion->complete(result);
    }
    // After the loop: the signal may have been among what it took, and will not come again for
    // them.
    take_over_posted();
    dispatch_inline();
    if (slept_ && !brought_something) kstat::publish(empty_wakeups_, empty_wakeups_ + 1);
    slept_ = false;
}

void Ring::dispatch_inline() {
    while (inline_.first != nullptr) {
        Completion* completion = inline_.first;
        inline_.first = completion->next_;
        if (inline_.first == nullptr) inline_.end = &inline_.first;
        completion->complete(completion->result_);
    }
}

int Ring::register_file(int fd) {
    if (free_files_.empty()) return -1;
    const int index = free_files_.back();
    assert(index >= 0 && index < file_table_size);
    if (kernel_.set_file(ring_, static_cast<unsigned>(index), fd) < 0) return -1;
    free_files_.pop_back();
    return index;
}

// Not the worker, once that has ended: the kernel refuses, and the ring's own end does it.
void Ring::unregister_file(int index) {
    if (index < 0 || kernel_.set_file(ring_, static_cast<unsigned>(index), -1) < 0) return;
    assert(free_files_.size() < file_table_size);
    free_files_.push_back(index);
}

}  // namespace blkscope
