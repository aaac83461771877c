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
// When a write goes this way, and when a range is unmapped so that its next write maps each folio as a
// whole, is decided elsewhere: blockdev/backing/write_choice.hpp.
//
// What was written stays mapped, and counts as the process's (RssFile) until the kernel takes it
// back. Page tables cost 4 KiB for each range of 2 MiB that has been written to, so only so many
// ranges stay mapped; past that the one that was not used for longest, roughly, is unmapped.
//
//     ranges of the file   |  2 MiB  |  2 MiB  |  2 MiB  | ...    mark: none, mapped, used of late
//     slots                [ 7 | 0 | 3 | ... ]  hand ──▶          the mapped ones; a clock
//
// Threads: map() before the others; those any. Of two writes that overlap one is later.
// Errors:  none; try_write() is false where it did not write.
// Source:  mmap(2), mincore(2); ext4_write_begin() and block_write_begin() of Linux 6.16.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blockdev/backing/stripes.hpp"
#include "blockdev/ring/kernel.hpp"
#include "blockdev/ring/lock.hpp"

namespace blkscope {

class MappedFile {
  public:
    static constexpr uint64_t range_bytes = uint64_t{2} << 20;  // that a page of page tables maps
    static constexpr size_t write_bytes_max = size_t{128} << 10;
    static constexpr size_t ranges_max = size_t{32} << 10;  // 128 MiB of page tables

    MappedFile() = default;
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    /// Maps the file, which is open for reading and writing and stays open, and keeps at most
    /// `ranges` of it mapped. Where it cannot be mapped, nothing will be written. `kernel` outlives
    /// it.
    void map(Kernel& kernel, int fd, uint64_t size_bytes, size_t ranges = ranges_max);

    /// Whether writes may succeed.
    [[nodiscard]] bool usable() const { return usable_.load(std::memory_order_relaxed); }
    /// Whether the page cache has all of these bytes; false where nothing is mapped.
    [[nodiscard]] bool is_cached(uint64_t offset, uint64_t bytes) const;

    /// Copies `from`, write_bytes_max at most, to the file at `offset`. False: that is to be written
    /// otherwise; some of it may have been written.
    bool try_write(uint64_t offset, std::span<const std::byte> from);

    /// Unmaps the range that `offset` is in; its next write maps it again.
    void unmap(uint64_t offset);

    /// To be called now and then: once the file is shorter than it was, no more is written here. A
    /// copy behind the end of a file, in its last page, would be lost without an error.
    void check_size();

    /// Keeps copies out of the bytes while another way of writing is under way.
    Stripes::Locked lock(uint64_t offset, uint64_t bytes) {
        assert(offset < size_bytes_);
        assert(bytes <= size_bytes_ - offset);
        return stripes_.lock(offset, bytes);
    }

    [[nodiscard]] size_t mapped_ranges() const { return slots_.size(); }

  private:
    enum Mark : uint8_t { none, mapped, used };

    [[nodiscard]] size_t range_at(uint64_t offset) const;
    void touch(size_t range);
    void enter(size_t range);
    void forget(size_t range);

    Kernel* kernel_ = nullptr;
    int fd_ = -1;
    std::byte* start_ = nullptr;
    uint64_t size_bytes_ = 0;
    uint64_t skew_ = 0;  // of the start, behind a range's first address
    std::atomic<bool> usable_{false};
    Stripes stripes_;
    std::vector<uint8_t> marks_;  // by range
    Lock slots_lock_;
    std::vector<uint32_t> slots_;  // the ranges that are mapped
    size_t slots_max_ = 0;
    size_t hand_ = 0;
};

}  // namespace blkscope
