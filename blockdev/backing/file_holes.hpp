// FileHoles: the knowledge about a file's holes, which all backings of the file share.
//
// lseek(2) tells where data and holes begin, however far away: it walks each extent, or each page on tmpfs, where 512 MiB
// take 8 ms. So:
//
//   - Reads look for holes only in a file of which an eighth or more is holes. Writes and trims change that share, so it
//     is measured again at times.
//   - The data that a slow look found is remembered for a hundred times as long as the look took. The memory may be out
//     of date, which is safe: a hole of zeroes was read as data. A hole is never remembered, because anyone may write.
//   - The looks of reads have a hundredth of the time (LookCredit). Without credit, a read finds data.
//
// Units:     bytes; times in nanoseconds of the kernel's clock.
// Threads:   any. LookCredit: a worker's.
// Source:    lseek(2); mapping_seek_hole_data() and iomap_seek_hole() of Linux.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "blockdev/backing/open_file.hpp"
#include "blockdev/ring/lock.hpp"

namespace blkscope {

/// A look that takes longer is slow. It then costs as much as a read of 128 KiB from the page cache.
inline constexpr hrtime_t slow_look_ns = 20'000;
inline constexpr hrtime_t looks_share = 100;  // of the time, one part is for slow looks

class FileHoles {
  public:
    explicit FileHoles(const OpenFile& file)
        : can_trim(file.trims), size_bytes_(file.size_bytes), sparse_(file.sparse) {}
    FileHoles& operator=(FileHoles&&) = delete;

    std::atomic<bool> can_trim;              // until the disk or the file system has none
    std::atomic<bool> can_punch{true};       // as can_trim
    std::atomic<bool> can_zero_range{true};  // as can_trim

    /// Whether so many bytes are no data that a read should look for holes.
    [[nodiscard]] static bool are_many(uint64_t hole_bytes, uint64_t size_bytes) {
        constexpr uint64_t share = 8;
        return hole_bytes > 0 && hole_bytes >= size_bytes / share;
    }
    [[nodiscard]] bool sparse() const { return sparse_.load(std::memory_order_relaxed); }
    void measured(uint64_t allocated_bytes) {
        sparse_ = are_many(size_bytes_ - std::min(allocated_bytes, size_bytes_), size_bytes_);
    }

    /// A hole has been made there. True if there may be many by now: then measure, or call found_many().
    [[nodiscard]] bool punched(uint64_t offset, uint64_t bytes);
    void found_many() { sparse_ = true; }

    /// How many bytes from `offset` on are remembered as data; 0 if nothing is known.
    [[nodiscard]] uint64_t data_from(uint64_t offset, hrtime_t now);
    /// To be asked before a look, for found_data().
    [[nodiscard]] uint64_t punches() const { return punches_; }
    /// A look from `began` to `ended` found data from `first` up to `end`. It counts for nothing if a hole was punched
    /// since `punches_before`.
    void found_data(uint64_t first, uint64_t end, hrtime_t began, hrtime_t ended,
                    uint64_t punches_before);

  private:
    struct Run {
        uint64_t first = 0;
        uint64_t end = 0;
        hrtime_t until = 0;
    };

    void remember(const Run& run);

    const uint64_t size_bytes_;
    std::atomic<bool> sparse_;
    std::atomic<uint64_t> punches_{0};
    std::atomic<hrtime_t> remembers_until_{0};  // of all runs
    Lock lock_;
    uint64_t punched_bytes_ = 0;  // since the last measurement
    std::array<Run, 64> runs_;
    size_t next_ = 0;  // of the runs, to be replaced
};

/// The time that the looks of one worker may take.
class LookCredit {
  public:
    [[nodiscard]] bool is_left(hrtime_t now) const { return debt_at(now) < debt_ns_max; }
    [[nodiscard]] bool is_whole() const { return debt_ns_ == 0; }
    void took(hrtime_t began, hrtime_t ended) {
        debt_ns_ = debt_at(ended);
        since_ = ended;
        if (ended - began > slow_look_ns) debt_ns_ += ended - began;
    }

  private:
    static constexpr hrtime_t debt_ns_max =
        20'000'000;  // some looks that were interrupted make no difference

    [[nodiscard]] hrtime_t debt_at(hrtime_t now) const {
        return std::max<hrtime_t>(debt_ns_ - std::max<hrtime_t>(now - since_, 0) / looks_share, 0);
    }

    hrtime_t debt_ns_ = 0;
    hrtime_t since_ = 0;
};

}  // namespace blkscope
