// Zeroed pages: memory that is all zeroes and takes none of the machine's until it is written to.
//
//     made       all zeroes, nothing resident
//     written    the pages of 4 KiB that were written to are resident, and no others
//     dropped    all zeroes again, not resident
//
// Huge pages are switched off. With transparent_hugepage=always, which is Debian's default, one byte would make
// 2 MiB resident; dropping 4 KiB of them would free nothing; and khugepaged(8) would fill the gaps later.
//
// Units:     bytes.
// Ownership: owns the mapping. Its contents need no construction and no destruction.
// Threads:   the memory is plain memory. During drop() no other thread writes to that part; readers get the old
//            bytes or zeroes.
// Errors:    without memory, start() is null right after the construction, and errno says why.
// Source:    mmap(2); madvise(2): MADV_NOHUGEPAGE, and MADV_DONTNEED's "zero-fill-on-demand pages".
#pragma once

#include <cstddef>

namespace blkscope {

class ZeroedPages {
  public:
    explicit ZeroedPages(size_t size_bytes);
    ~ZeroedPages();
    ZeroedPages& operator=(ZeroedPages&&) = delete;

    [[nodiscard]] std::byte* start() const { return start_; }
    [[nodiscard]] size_t size_bytes() const { return size_bytes_; }

    /// Makes whole pages zeroes that are not resident. False if the kernel refuses, as for memory that is locked or
    /// for a range that is not aligned to larger pages. Then nothing has changed.
    [[nodiscard]] bool drop(size_t first, size_t bytes) const;
    [[nodiscard]] bool drop_all() const { return drop(0, size_bytes_); }

  private:
    const size_t size_bytes_;
    std::byte* const start_;
};

}  // namespace blkscope
