// Uring: the two queues of one io_uring, and its table of files.
//
// Ownership: owns the io_uring; borrows the kernel, which outlives it.
// Threads:   made on any; from enable() on, one. When that has ended, files may be removed on any one
//            thread.
// Errors:    the constructor throws std::runtime_error, enable() std::system_error.
// Source:    io_uring_setup(2), io_uring_enter(2), io_uring_register(2); liburing 2.3.
#pragma once

#include <liburing.h>

#include <cassert>
#include <cstdint>
#include <vector>

#include "blockdev/ring/completion.hpp"
#include "blockdev/ring/kernel.hpp"

namespace blkscope {

class Uring {
  public:
    Uring(Kernel& kernel, unsigned entries);
    ~Uring();
    Uring(const Uring&) = delete;
    Uring& operator=(const Uring&) = delete;

    [[nodiscard]] Kernel& kernel() const { return kernel_; }

    void enable();

    /// Entries that can be prepared before something has to be submitted.
    [[nodiscard]] unsigned room() const { return io_uring_sq_space_left(&ring_); }
    /// The next entry to be filled in. There is room().
    [[nodiscard]] io_uring_sqe* entry();
    /// Submits what was prepared; sleeps until `wait_for` completions are there. Gives the number of
    /// entries, or -EINTR, -EAGAIN (no memory), -EBUSY (completions must be taken first).
    int submit(unsigned wait_for);

    /// Whether next() has something without asking the kernel.
    [[nodiscard]] bool ready() const { return io_uring_cq_ready(&ring_) > 0; }
    /// Has the kernel move completions that it holds back into the queue, if there are any.
    void take_held_back();
    /// Takes one completion out of the queue, nullptr for one that nobody waits for. Where the queue
    /// is empty the kernel is asked once for those that it holds back. False: there is none.
    bool next(Completion*& completion, int32_t& result);

    /// Lets operations name `fd` by the index returned, which spares the kernel a look-up each time.
    /// -1 where the table is full; the plain descriptor still serves.
    int add_file(int fd);
    /// Gives the index back; the kernel holds the file open until then. -1 is nothing.
    void remove_file(int index);

  private:
    Kernel& kernel_;
    io_uring ring_{};
    std::vector<int> free_files_;  // indexes into the table, the next one last
};

}  // namespace blkscope
