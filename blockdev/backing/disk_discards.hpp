// DiskDiscards: discards of a disk, in a thread that may wait for it.
//
// A disk that can discard need not be able to write zeroes (a SATA SSD, dm-thin, the kernel's nbd of Debian 12). The
// kernel then refuses FALLOC_FL_PUNCH_HOLE, and BLKDISCARD is the only way. No ring operation before Linux 6.12 does
// it, and the ioctl blocks for as long as the disk takes.
//
//     worker: start(buf) ── queue ──▶ thread: BLKDISCARD ── Ring::post() ──▶ worker: buf.complete(result)
//
// Units:     bytes.
// Ownership: borrows descriptor and ring. Borrows each buf until it is posted; destroyed without bufs.
// Threads:   start() and the destructor are the ring's worker's. The thread begins with the first discard.
// Errors:    the result is 0 or -errno; -EAGAIN if there can be no thread.
// Source:    blk_ioctl_discard() of Linux.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {

class DiskDiscards {
  public:
    DiskDiscards(int descriptor, Ring& ring) : descriptor_(descriptor), ring_(ring) {}
    ~DiskDiscards();
    DiskDiscards& operator=(DiskDiscards&&) = delete;

    /// Discards the range of the buf that consists of whole units of `unit_bytes`, which is not empty. The completion
    /// comes by the ring.
    void start(Buf& buf, uint64_t unit_bytes);

  private:
    void run();

    const int descriptor_;
    Ring& ring_;
    uint64_t unit_bytes_ = 1;
    std::mutex mutex_;
    std::condition_variable changed_;
    BufQueue bufs_;
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace blkscope
