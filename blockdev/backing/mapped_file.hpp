// MappedFile: writes to a file's page cache by copying to a shared mapping of it.
//
// ext4 uses large folios since Linux 6.16. For a write of 4 KiB, write(2) walks all buffers of the
// folio, which has a megabyte or two. The write takes some 15 us, and the copy is a twentieth of
// that. A mapping pays this cost once per folio and write-back (docs/performance.md). Other
// processes see no difference: the data is in the page cache, and fdatasync(2) writes it to the
// disk.
//
// Only pages that are in the page cache are written here. Other pages would first have to be read
// from the disk. A file that has shrunk, or a full disk, causes SIGBUS, which Kernel::copy()
// catches. Then the caller writes with pwrite(2), which loses nothing and reports the error.
//
// WriteChoice (blockdev/backing/write_choice.hpp) decides when a write uses the mapping, and when a
// range is unmapped. The next write to the range then maps each folio as a whole.
//
// Written pages stay mapped, and count as memory of the process (RssFile) until the kernel reclaims
// them. Each range of 2 MiB with a written page costs 4 KiB of page tables. Therefore the number of
// mapped ranges is limited. Beyond the limit, a range that was not used for long is unmapped.
//
//     ranges of the file   |  2 MiB  |  2 MiB  |  2 MiB  | ...    mark: none, mapped, recently used
//     slots                [ 7 | 0 | 3 | ... ]  hand ──▶          the mapped ones; a clock
//
// Units:     bytes.
// Ownership: borrows the kernel and the descriptor; owns the mapping.
// Threads:   map() first, by one thread; then any. Of two overlapping copies one is later. A write by the ring takes
//            no lock of ours, and may mix with a copy.
// Errors:    none; try_write() is false if it did not write.
// Source:    mmap(2), mincore(2); ext4_write_begin() and block_write_begin() of Linux 6.16.
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
    static constexpr uint64_t range_bytes = uint64_t{2} << 20;  // mapped by one page of page tables
    static constexpr size_t write_bytes_max = size_t{128} << 10;
    static constexpr size_t ranges_max = size_t{32} << 10;  // 128 MiB of page tables

    ~MappedFile();
    MappedFile& operator=(MappedFile&&) = delete;

    /// Maps the file, and keeps at most `ranges` of it mapped. The file is open for reading and
    /// writing and stays open. If it cannot be mapped, no write will succeed. `kernel` outlives the
    /// mapping.
    void map(Kernel& kernel, int fd, uint64_t size_bytes, size_t ranges = ranges_max);

    /// Whether the file is mapped, so that writes may succeed.
    [[nodiscard]] bool usable() const { return usable_.load(std::memory_order_relaxed); }
    /// Whether the page cache has all of these bytes; false if nothing is mapped.
    [[nodiscard]] bool is_cached(uint64_t offset, uint64_t bytes) const;

    /// Copies `from`, at most write_bytes_max, to the file at `offset`. If false, the caller writes
    /// the bytes with another method; some of them may have been written.
    bool try_write(uint64_t offset, std::span<const std::byte> from);

    /// Unmaps the range of `offset`. Its next write maps it again.
    void unmap(uint64_t offset);

    /// To be called at each sync. When the file has become shorter, no more writes succeed here. A
    /// copy behind the end of a file, in its last page, would be lost without an error.
    void check_size();

    /// Locks the bytes against copies, while another method writes them.
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
    [[nodiscard]] bool take_unused(size_t range);
    void enter(size_t range);
    void forget(size_t range);

    Kernel* kernel_ = nullptr;
    int fd_ = -1;
    std::byte* start_ = nullptr;
    uint64_t size_bytes_ = 0;
    uint64_t skew_ = 0;  // bytes from a range's first address to start_
    std::atomic<bool> usable_{false};
    Stripes stripes_;
    std::vector<uint8_t> marks_;  // by range
    Lock slots_lock_;
    std::vector<uint32_t> slots_;  // the ranges that are mapped
    size_t slots_max_ = 0;
    size_t hand_ = 0;
};

}  // namespace blkscope
