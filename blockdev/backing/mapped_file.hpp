// MappedFile: writes to a file's page cache by copying to a shared mapping of it.
//
// ext4 keeps large folios since Linux 6.16, and write(2) walks all buffers of the folio, a megabyte
// or two of them, for a write of 4 KiB: some 15 us, of which the copy is a twentieth. A mapping
// pays that once per folio and write-back (docs/performance.md). To the rest of the system there is
// no difference: the data is in the page cache, and fdatasync(2) brings it to the disk.
//
// Only what is in the page cache is written here: anything else would have to be read from the disk
// first. A file that shrank, and a full disk, show as SIGBUS, which Kernel::copy() catches; then nothing is lost
// by writing in the ordinary way, which says what was wrong.
//
// When the kernel has written pages to the disk it takes the right to write to them away, page by
// page, and gives it back page by page, walking all of the folio each time. A range where copies
// begin to take long is therefore unmapped: its next write maps each folio whole again.
//
// What was written stays mapped, and counts as the process's (RssFile) until the kernel takes it
// back. To map anew from time to time, so that it does not, costs a fault per folio each time.
//
// Threads: map() before the others; those any. Of two writes that overlap one is later.
// Errors:  none; try_write() is false where it did not write.
// Source:  mmap(2), mincore(2); ext4_write_begin() and block_write_begin() of Linux 6.16.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blockdev/backing/stripes.hpp"
#include "blockdev/ring/kernel.hpp"

namespace blkscope {

class MappedFile {
  public:
    MappedFile() = default;
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    /// Maps the file, which is open for reading and writing and stays open. Where it cannot be
    /// mapped, nothing will be written. `kernel` outlives it.
    void map(Kernel& kernel, int fd, uint64_t size_bytes);

    /// Whether a write of so many bytes is for us: up to 64 KiB, and up to 128 KiB if such writes
    /// come to more than twice the file between two flushes.
    [[nodiscard]] bool takes(uint64_t bytes);

    /// Pages are about to be written to the disk, and will have to be mapped anew.
    void flushing() { large_bytes_.store(0, std::memory_order_relaxed); }

    /// Copies `from`, 128 KiB at most, to the file at `offset`. False: that is to be written
    /// otherwise; some of it may have been written.
    bool try_write(uint64_t offset, std::span<const std::byte> from);

  private:
    void took_long(uint64_t range);
    void unmap(uint64_t range);

    Kernel* kernel_ = nullptr;
    std::byte* start_ = nullptr;
    uint64_t size_bytes_ = 0;
    Stripes stripes_;
    std::atomic<uint64_t> large_bytes_{0};  // in large writes since the last flush
    // By range: how many long copies are still to be put up with there, for they map it.
    std::vector<uint8_t> patience_;
};

}  // namespace blkscope
