// SimulatedFile: a regular file with a page cache and a disk behind it.
//
//     write ─▶ cache ── sync, or write-back at any time ──▶ disk
//                                                            │
//     after a crash: the disk, and any of ◀──────────────────┘
//     the sectors that were not synced
//
// A sector of 512 bytes is written whole or not at all. A failed sync loses some sectors. As on
// Linux, these stay in the cache as clean and are not on the disk. Each open description gets the
// error once (errseq).
//
// Another process may truncate the file. A read of the rest then finds the end of the file. A write
// makes the file longer again, with zeroes before it. A copy into a mapping fails behind the last
// page. In the last page, the bytes behind the end are lost without an error.
//
// A disk may hang: then an operation of the ring ends late, with or without its effect before. Direct calls do not
// hang.
//
// Units:  bytes; sectors of 512.
// Source: fsync(2), truncate(2), mmap(2); Linux' Documentation/core-api/errseq.rst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "image.hpp"
#include "random.hpp"

namespace blkscope::simulation {

class SimulatedFile {
  public:
    explicit SimulatedFile(uint64_t bytes) : SimulatedFile(Image(bytes)) {}
    explicit SimulatedFile(std::span<const std::byte> content) : SimulatedFile(Image(content)) {}
    /// Pages of zeroes are holes.
    explicit SimulatedFile(const Image& content);

    /// The greatest size, at which the file begins.
    [[nodiscard]] uint64_t bytes() const { return cache_.bytes(); }
    /// The size now.
    [[nodiscard]] uint64_t length() const { return length_; }

    uint64_t read(uint64_t at, std::span<std::byte> to) const;
    /// Ranges must lie within bytes(). A write behind the end makes the file longer.
    void write(uint64_t at, std::span<const std::byte> from);
    /// Keeps the length.
    void zero(uint64_t at, uint64_t bytes, bool leave_hole);
    /// Copies into the mapping. False: SIGBUS, after some of the bytes.
    [[nodiscard]] bool copy(uint64_t at, std::span<const std::byte> from);
    /// Whether the page cache may have all of these bytes.
    [[nodiscard]] bool has_pages(uint64_t at, uint64_t bytes) const;
    /// From now on, one operation in `one_in` does not end before let_go().
    void hang(uint64_t one_in) { hangs_one_in_ = one_in; }
    [[nodiscard]] bool hangs(Random& random) const { return random.one_in(hangs_one_in_); }
    void hold(std::function<void()> rest) { held_.push_back(std::move(rest)); }
    [[nodiscard]] size_t held() const { return held_.size(); }
    /// The rest of each operation that hung. No others will.
    [[nodiscard]] std::vector<std::function<void()>> let_go();

    /// The range is read ahead. It may reach behind the end.
    void advise(uint64_t at, uint64_t bytes);
    /// Whether all of the range was read ahead, at any time.
    [[nodiscard]] bool was_advised(uint64_t at, uint64_t bytes) const;
    /// Another process makes the file shorter.
    void truncate(uint64_t length);

    /// Writes all unsynced sectors of the range to the disk.
    void sync(uint64_t at, uint64_t bytes);
    void sync() { sync(0, bytes()); }
    /// A sync that fails: some unsynced sectors are written, some are lost.
    void fail_sync(Random& random);
    /// The kernel writes one sector back on its own.
    void write_back_some(Random& random);

    /// The content of the disk after a power failure.
    [[nodiscard]] Image crash(Random& random) const;
    [[nodiscard]] const Image& disk() const { return disk_; }
    /// The page cache, which a process that is killed leaves as it is.
    [[nodiscard]] const Image& cached() const { return cache_; }

    /// lseek(2) with SEEK_DATA or SEEK_HOLE.
    [[nodiscard]] int64_t seek(uint64_t at, int whence) const;

    /// Called after each failed sync.
    std::function<void()> when_sync_failed;

    /// Failed syncs so far. A description that has seen fewer gets an error.
    [[nodiscard]] uint64_t errors() const { return errors_; }

  private:
    [[nodiscard]] uint64_t sectors() const { return bytes() / sector_bytes; }
    [[nodiscard]] bool is_wide() const { return bytes() > mark_bytes_max; }
    [[nodiscard]] uint64_t end_of_last_page() const;
    void mark(uint64_t at, uint64_t bytes);
    void mark_pages_of(const Image& image, uint64_t at, uint64_t bytes);
    template <class Call>
    void each_unsynced(Call call) const;

    /// The sectors of a longer range of zeroes count as unsynced only where either image has a page. The
    /// others are zeroes in both.
    static constexpr uint64_t mark_bytes_max = uint64_t{64} << 20;

    Image cache_;
    Image disk_;
    std::map<uint64_t, uint8_t> unsynced_;  // a bit for each sector, by page; never 0
    PageRuns allocated_;
    PageRuns advised_;
    uint64_t hangs_one_in_ = 0;  // 0: none
    std::vector<std::function<void()>> held_;
    uint64_t length_ = 0;
    uint64_t errors_ = 0;
};

}  // namespace blkscope::simulation
