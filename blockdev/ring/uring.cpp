#include "blockdev/ring/uring.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <stdexcept>

#include "base/throw_errno.hpp"
#include "blockdev/ring/set_up_failure.hpp"

namespace blkscope {
namespace {

constexpr int file_table_size = 64;

// This bit of the user_data marks an entry whose end is not reported. The other bits are a
// completion's address.
constexpr uint64_t unreported = 1;
static_assert(alignof(Completion) > unreported);

}  // namespace

Uring::Uring(Kernel& kernel, unsigned entries) : kernel_(kernel) {
    assert(entries > 0);
    const int error = kernel_.set_up(entries, ring_);
    if (error < 0) throw std::runtime_error(set_up_failure(-error, ring_memory_bytes(entries)));
    // Kernels before 5.19 have no such table; operations then name plain descriptors.
    if (kernel_.reserve_files(ring_, file_table_size) < 0) return;
    for (int index = file_table_size; index-- > 0;) free_files_.push_back(index);
}

Uring::~Uring() {
    kernel_.tear_down(ring_);
}

void Uring::enable() {
    const int error = kernel_.enable(ring_);
    if (error < 0) throw_errno("enable io_uring", -error);
}

io_uring_sqe* Uring::entry() {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    assert(entry != nullptr);
    return entry;
}

int Uring::submit(unsigned wait_for, hrtime_t ns_max) {
    const int submitted = kernel_.submit(ring_, wait_for, ns_max);
    assert(submitted >= 0 || submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY);
    return submitted;
}

void Uring::take_held_back() {
    constexpr unsigned held_back = IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW;
    if ((IO_URING_READ_ONCE(*ring_.sq.kflags) & held_back) != 0) kernel_.take_completions(ring_);
}

void Uring::set_unreported(io_uring_sqe& entry, const Completion& completion) {
    entry.user_data = reinterpret_cast<uintptr_t>(&completion) | unreported;
}

bool Uring::next(Completion*& completion, int32_t& result) {
    if (!ready()) take_held_back();
    if (!ready()) return false;
    const unsigned head = *ring_.cq.khead;
    const io_uring_cqe& entry = ring_.cq.cqes[head & *ring_.cq.kring_mask];
    const bool reported = (entry.user_data & unreported) == 0;
    completion = reported ? static_cast<Completion*>(io_uring_cqe_get_data(&entry)) : nullptr;
    result = entry.res;
    io_uring_cq_advance(&ring_, 1);
    return true;
}

int Uring::add_file(int fd) {
    assert(fd >= 0);
    if (free_files_.empty()) return -1;
    const int index = free_files_.back();
    assert(index >= 0 && index < file_table_size);
    if (kernel_.set_file(ring_, static_cast<unsigned>(index), fd) < 0) return -1;
    free_files_.pop_back();
    return index;
}

// When the worker has ended, the kernel refuses: it let go of the file in drop_files().
void Uring::remove_file(int index) {
    assert(index < file_table_size);
    if (index < 0 || kernel_.set_file(ring_, static_cast<unsigned>(index), -1) < 0) return;
    assert(free_files_.size() < file_table_size);
    assert(std::ranges::find(free_files_, index) == free_files_.end());
    free_files_.push_back(index);
}

}  // namespace blkscope
