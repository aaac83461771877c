// Image: the bytes of a disk of any size. Only pages with data take memory.
//
//     0          page_bytes                                            bytes()
//     |  page 0  |        pages that are not there are zeroes  |  page n |
//
// PageRuns: a set of pages that may be as large as a disk, as its runs.
//
// Units:  bytes; pages of 4096; sectors of 512.
// Errors: none. A range outside of the image aborts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace blkscope::simulation {

inline constexpr uint64_t sector_bytes = 512;
inline constexpr uint64_t page_bytes = 4096;
inline constexpr uint64_t page_sectors = page_bytes / sector_bytes;

class Image {
  public:
    using Page = std::array<std::byte, page_bytes>;

    explicit Image(uint64_t bytes = 0) : bytes_(bytes) {}
    explicit Image(std::span<const std::byte> content);

    [[nodiscard]] uint64_t bytes() const { return bytes_; }
    [[nodiscard]] const std::map<uint64_t, Page>& pages() const { return pages_; }

    void read(uint64_t at, std::span<std::byte> to) const;
    void write(uint64_t at, std::span<const std::byte> from);
    /// Sets zeroes. Whole pages of the range are removed.
    void clear(uint64_t at, uint64_t bytes);

    /// The bytes of a sector; valid until the image changes.
    [[nodiscard]] std::span<const std::byte> sector(uint64_t number) const;
    /// The first sector behind this one that may have data, or the end.
    [[nodiscard]] uint64_t next_sector(uint64_t number) const;
    /// The sector becomes that of the other image.
    void copy_sector(uint64_t number, const Image& from);

  private:
    uint64_t bytes_;
    std::map<uint64_t, Page> pages_;  // by number
};

class PageRuns {
  public:
    void add(uint64_t first, uint64_t end);
    void remove(uint64_t first, uint64_t end);
    /// The first page from `page` on that is in the set, or that is not; `none` if there is no such page.
    [[nodiscard]] uint64_t next(uint64_t page, bool present) const;
    static constexpr uint64_t none = UINT64_MAX;

  private:
    void split(uint64_t at);

    std::map<uint64_t, uint64_t> runs_;  // the end by the first page; no two runs meet
};

}  // namespace blkscope::simulation
