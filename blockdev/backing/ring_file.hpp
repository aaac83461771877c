// RingFile: a file as the operations of one ring name it.
//
// An operation names the file by an index into the ring's table. If the table is full, it uses the
// descriptor. The index saves the kernel a look-up for each operation.
//
// Ownership: borrows the descriptor; owns the place in the table until it is destroyed.
// Threads:   constructed on any thread; from attach() on, the ring's worker only. When the worker
//            has ended, any one thread may destroy it.
// Errors:    none; an operation's failure is its completion's -errno.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>

#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {

class RingFile {
  public:
    explicit RingFile(int fd) : fd_(fd) { assert(fd_ >= 0); }
    ~RingFile() {
        if (ring_ != nullptr) ring_->uring().remove_file(index_);
    }
    RingFile& operator=(RingFile&&) = delete;

    /// Binds the file to the ring. Once. The descriptor comes from `kernel`, on which the ring
    /// runs. The ring outlives the RingFile.
    void attach(Ring& ring, [[maybe_unused]] const Kernel& kernel) {
        assert(ring_ == nullptr);
        assert(&ring.kernel() == &kernel);
        ring_ = &ring;
        index_ = ring.uring().add_file(fd_);
    }

    [[nodiscard]] Ring& ring() const {
        assert(ring_ != nullptr);
        return *ring_;
    }

    /// Prepares one operation of `buf`: prepare_entry(entry, fd) fills the entry. Always returns
    /// nothing, because the result comes when the operation has ended.
    template <class Prepare>
    std::optional<int32_t> prepare(Buf& buf, Prepare prepare_entry) {
        ring().prepare(buf, [&](io_uring_sqe* entry) {
            prepare_entry(entry, index_ >= 0 ? index_ : fd_);
            if (index_ >= 0) entry->flags |= IOSQE_FIXED_FILE;
        });
        return std::nullopt;
    }

  private:
    const int fd_;
    int index_ = -1;  // in the ring's table, -1 for none
    Ring* ring_ = nullptr;
};

}  // namespace blkscope
