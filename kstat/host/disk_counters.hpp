// A line of /proc/diskstats, and its conversion to a kstat_io_t.
//
// Linux times a request from its allocation to its end. The moment at which the driver took the
// request is not published. All of a request's time is therefore in the run queue here, and the
// wait queue is empty.
//
// Source: Linux' Documentation/admin-guide/iostats.rst.
#pragma once

#include <sys/kstat.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace blkscope::kstat::host {

/// Bytes; Linux counts in sectors of this size, whatever the disk's own size is.
inline constexpr uint64_t sector_size = 512;

/// The counters of a line, in the kernel's order.
enum Counter : size_t {
    reads,
    reads_merged,
    sectors_read,
    read_ms,
    writes,
    writes_merged,
    sectors_written,
    write_ms,
    in_flight,
    busy_ms,
    queue_ms,  // the times of all requests together
    discards,
    discards_merged,
    sectors_discarded,
    discard_ms,
    flushes,
    flush_ms,
    counters_max
};

struct DiskLine {
    uint64_t major = 0, minor = 0;
    std::string name;
    std::array<uint64_t, counters_max> counters{};
    size_t count = 0;  // number of counters in this kernel: 4 (of old partitions), 11, 15, 17
};

/// Nothing: not a line of that file.
std::optional<DiskLine> parse_disk_line(std::string_view line);

/// The counters of one disk over many looks. The milliseconds have 32 bits, and wrap after 49 days
/// of one request. Kernels of 32 bits count all else in 32 bits, too. Here nothing wraps.
class DiskHistory {
  public:
    /// Takes the next look, and widens the line's counters. False if they began anew: the line is of
    /// another disk, or of a disk that was plugged in again.
    bool widen(DiskLine& line);

  private:
    std::array<uint64_t, counters_max> last_{};   // as the kernel showed them
    std::array<uint64_t, counters_max> wraps_{};  // what the wraps are worth
};

/// Of a widened line. `taken` is the time at which the line was read.
kstat_io_t to_io(const DiskLine& line, hrtime_t taken);

/// The number in a disk's name. For sd, hd, vd and xvd, the letters behind are the number (a is 0).
/// For other names, the first digits are the number.
int unit_of(std::string_view disk);

/// "vda,1" of vda1 on vda, "nvme0n1,2" of nvme0n1p2 on nvme0n1. Empty: not a partition of it.
std::string partition_name(std::string_view disk, std::string_view partition);

}  // namespace blkscope::kstat::host
