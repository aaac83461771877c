#include "blockdev/ring/ring.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <kstat/clock.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

namespace blkscope {
namespace {

constexpr unsigned completion_queue_factor = 8;  // room for what a turn's completions prepare
constexpr int file_table_size = 64;

// A client with one request at a time leaves a worker idle after so many turns: header, payload,
// data, reply. With more under way, requests that queue up while it sleeps are served for less.
constexpr uint64_t busy_turns_max = 4;

// Best first. DEFER_TASKRUN runs completions only when the worker asks for them, which batches them
// and never interrupts it; TASKRUN_FLAG tells in shared memory that there are some. Older kernels
// have less.
constexpr unsigned setup_flags[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
        IORING_SETUP_SUBMIT_ALL | IORING_SETUP_R_DISABLED,
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL |
        IORING_SETUP_R_DISABLED,
    IORING_SETUP_R_DISABLED,
};

int set_up(unsigned entries, io_uring& ring) {
    int error = -EINVAL;
    for (const unsigned flags : setup_flags) {
        io_uring_params params{};
        params.flags = flags | IORING_SETUP_CQSIZE;
        params.cq_entries = entries * completion_queue_factor;
        error = io_uring_queue_init_params(entries, &ring, &params);
        if (error != -EINVAL) break;
    }
    return error;
}

}  // namespace

Ring::Ring(unsigned entries, bool busy_wait) : may_look_out_(busy_wait) {
    kstat::calibrate_clock();  // before the first device on it takes a time
    const int error = set_up(entries, ring_);
    if (error < 0) {
        throw std::runtime_error("set up io_uring: " + std::generic_category().message(-error) +
                                 "; see that kernel.io_uring_disabled is 0 and no container's "
                                 "seccomp profile forbids it");
    }
    signal_event_ = eventfd(0, EFD_CLOEXEC);
    if (signal_event_ < 0) {
        const int reason = errno;
        io_uring_queue_exit(&ring_);
        throw std::runtime_error("eventfd: " + std::generic_category().message(reason));
    }
    // Without a table (a kernel before 5.19) operations name plain descriptors.
    if (io_uring_register_files_sparse(&ring_, file_table_size) < 0) return;
    for (int index = file_table_size; index-- > 0;) free_files_.push_back(index);
}

Ring::~Ring() {
    io_uring_queue_exit(&ring_);
    ::close(signal_event_);
}

void Ring::enable() {
    // Debian 12's liburing declares io_uring_enable_rings() and does not export it.
    if (syscall(__NR_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) <
        0) {
        throw std::system_error(errno, std::generic_category(), "enable io_uring");
    }
    io_uring_register_ring_fd(&ring_);  // spares a descriptor look-up per wait; optional
    watch_signal();
}

void Ring::make_room(unsigned entries) {
    while (io_uring_sq_space_left(&ring_) < entries) {
        let_go();
        const int submitted = io_uring_submit(&ring_);
        // EBUSY: the kernel holds completions back until we take some; they are taken at the next
        // dispatch(), and get_events() makes room for them meanwhile.
        if (submitted < 0) io_uring_get_events(&ring_);
    }
}

io_uring_sqe* Ring::next_entry() {
    make_room(1);
    return io_uring_get_sqe(&ring_);
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
    eventfd_write(signal_event_, 1);
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
    const hrtime_t now = kstat::now_unscaled();
    for (SubmissionObserver* observer : observers_) observer->submitting(now);
}

void Ring::wait(bool sleep) {
    if (announce_) tell_observers();
    let_go();
    slept_ = sleep && inline_.first == nullptr && later_.first == nullptr;
    const int submitted = slept_ ? submit_and_sleep() : io_uring_submit_and_wait(&ring_, 0);
    // EINTR, EAGAIN (memory), EBUSY (completions to be taken first): the next turn tries again.
    assert(submitted >= 0 || submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY);
}

// What is submitted often completes at once: that was no idle wait, and says nothing of the next.
int Ring::submit_and_sleep() {
    if (!may_look_out_) return io_uring_submit_and_wait(&ring_, 1);
    const int submitted = io_uring_submit(&ring_);
    if (submitted < 0 || io_uring_cq_ready(&ring_) > 0) return submitted;
    const bool busy = turn_ - idle_turn_ > busy_turns_max && !expects_soon_;
    expects_soon_ = false;
    idle_turn_ = turn_;
    if (busy) return io_uring_submit_and_wait(&ring_, 1);
    const hrtime_t since = kstat::now_unscaled();
    if (busy_wait_.pays()) return look_out(since) ? 0 : io_uring_submit_and_wait(&ring_, 1);
    const int error = io_uring_submit_and_wait(&ring_, 1);
    busy_wait_.slept(static_cast<uint64_t>(kstat::to_ns(kstat::now_unscaled() - since)));
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
            io_uring_get_events(&ring_);
        }
        found = io_uring_cq_ready(&ring_) > 0;
        ns = static_cast<uint64_t>(kstat::to_ns(kstat::now_unscaled() - since));
    }
    busy_wait_.looked(ns, found);
    return found;
}

void Ring::dispatch() {
    ++turn_;
    inline_.take_over(later_);
    bool brought_something = inline_.first != nullptr;
    io_uring_cqe* entry = nullptr;
    while (io_uring_peek_cqe(&ring_, &entry) == 0) {
        auto* completion = static_cast<Completion*>(io_uring_cqe_get_data(entry));
        const int32_t result = entry->res;
        brought_something = true;
        io_uring_cqe_seen(&ring_, entry);
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
    if (io_uring_register_files_update(&ring_, static_cast<unsigned>(index), &fd, 1) < 0) return -1;
    free_files_.pop_back();
    return index;
}

// Not the worker, once that has ended: the kernel refuses, and the ring's own end does it.
void Ring::unregister_file(int index) {
    int none = -1;
    if (index < 0 ||
        io_uring_register_files_update(&ring_, static_cast<unsigned>(index), &none, 1) < 0) {
        return;
    }
    free_files_.push_back(index);
}

}  // namespace blkscope
