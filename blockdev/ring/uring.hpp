// Uring: the two queues of one io_uring, and its table of files.
//
// Ownership: owns the io_uring; borrows the kernel, which outlives it.
// Threads:   constructed on any thread. From enable() on, one thread. When that thread has ended,
//            any one thread may remove files.
// Errors:    the constructor throws std::runtime_error, enable() std::system_error.
// Source:    io_uring_setup(2), io_uring_enter(2), io_uring_register(2); liburing 2.3.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <vector>

#include "blockdev/ring/completion.hpp"
#include "blockdev/ring/kernel.hpp"

namespace blkscope {

class Uring {
  public:
    Uring(Kernel& kernel, unsigned entries);
    ~Uring();
    Uring& operator=(Uring&&) = delete;

    [[nodiscard]] Kernel& kernel() const { return kernel_; }

    void enable();

    /// The number of entries that can be prepared before the next submission.
    [[nodiscard]] unsigned room() const { return io_uring_sq_space_left(&ring_); }
    /// The next entry to be filled in. The caller has checked room().
    [[nodiscard]] io_uring_sqe* entry();
    /// Submits all prepared entries; sleeps until `wait_for` completions are there. Returns the
    /// number of entries, or -EINTR, -EAGAIN (no memory), -EBUSY (completions must be taken first).
    /// The sleep ends after `ns_max` nanoseconds, too; then `wait_for` is 1.
    int submit(unsigned wait_for, hrtime_t ns_max = Kernel::forever);

    /// Whether next() has a completion without asking the kernel.
    [[nodiscard]] bool ready() const { return io_uring_cq_ready(&ring_) > 0; }
    /// Makes the kernel move the completions that it holds back into the queue, if there are any.
    void take_held_back();
    /// Marks an entry whose end is not reported. No other entry has the same user_data, because a
    /// linked timeout finds its operation by the user_data. `completion` belongs to the last entry of
    /// the link.
    static void set_unreported(io_uring_sqe& entry, const Completion& completion);
    /// Takes one completion out of the queue; nullptr for an operation without one. If the queue is
    /// empty, the kernel is asked once for completions that it holds back. False if there is none.
    bool next(Completion*& completion, int32_t& result);

    /// Lets operations name `fd` by the returned index, which saves the kernel a look-up each time.
    /// -1 if the table is full; operations may always name the plain descriptor.
    int add_file(int fd);
    /// Frees the index. The kernel keeps the file open until then. An index of -1 is ignored.
    void remove_file(int index);
    /// The worker ends: the kernel lets go of all files now, and not some time after the ring's end.
    void drop_files() { kernel_.reserve_files(ring_, 0); }

  private:
    Kernel& kernel_;
    io_uring ring_{};
    std::vector<int> free_files_;  // free indexes of the table; the next to be used is last
};

}  // namespace blkscope
