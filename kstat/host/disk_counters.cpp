#include "kstat/host/disk_counters.hpp"

#include <algorithm>
#include <limits>

#include "kstat/host/text.hpp"

namespace blkscope::kstat::host {
namespace {

constexpr uint64_t wrap = 1ULL << 32;
// A sum over processors may look a little smaller than before, because it grows during the read.
constexpr uint64_t race_ms = 1000;
constexpr hrtime_t ns_per_ms = 1'000'000;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

// Linux 2.6.24 and older had 4 counters of a partition: reads, sectors, writes, sectors.
void spread_four(std::array<uint64_t, counters_max>& counters) {
    counters[sectors_written] = counters[3];
    counters[writes] = counters[2];
    counters[sectors_read] = counters[1];
    counters[reads_merged] = 0;
    counters[read_ms] = 0;
}

bool is_time(size_t counter) {
    switch (counter) {
        case read_ms:
        case write_ms:
        case busy_ms:
        case queue_ms:
        case discard_ms:
        case flush_ms:
            return true;
        default:
            return false;
    }
}

bool is_wrap(uint64_t before, uint64_t now) {
    return before < wrap && now < before && before - now > wrap / 2;
}

}  // namespace

std::optional<DiskLine> parse_disk_line(std::string_view text) {
    DiskLine line;
    const auto major = to_number(take_word(text));
    const auto minor = to_number(take_word(text));
    line.name = take_word(text);
    if (!major || !minor || line.name.empty()) return std::nullopt;
    line.major = *major;
    line.minor = *minor;
    for (uint64_t& counter : line.counters) {
        const auto number = to_number(take_word(text));
        if (!number) break;
        counter = *number;
        ++line.count;
    }
    if (line.count == 4) {
        spread_four(line.counters);
    } else if (line.count <= queue_ms) {
        return std::nullopt;
    }
    return line;
}

// A counter that begins anew falls by less than half of 32 bits, or from beyond 32 bits. If one did,
// a fall of the others was no wrap either.
bool DiskHistory::widen(DiskLine& line) {
    for (size_t i = 0; i < counters_max; ++i) {
        const uint64_t now = line.counters[i];
        if (i == in_flight || now >= last_[i] || is_wrap(last_[i], now)) continue;
        if (last_[i] - now <= (is_time(i) ? race_ms : 0)) continue;
        last_ = line.counters;
        wraps_ = {};
        return false;
    }
    for (size_t i = 0; i < counters_max; ++i) {
        if (i == in_flight) continue;
        uint64_t& now = line.counters[i];
        if (is_wrap(last_[i], now)) {
            wraps_[i] += wrap;
        } else {
            now = std::max(now, last_[i]);
        }
        last_[i] = now;
        now += wraps_[i];
    }
    return true;
}

kstat_io_t to_io(const DiskLine& line, hrtime_t taken) {
    const auto& counters = line.counters;
    kstat_io_t io{};
    io.nread = counters[sectors_read] * sector_size;
    io.nwritten = counters[sectors_written] * sector_size;
    io.reads = static_cast<uint_t>(counters[reads]);
    io.writes = static_cast<uint_t>(counters[writes]);
    io.rtime = static_cast<hrtime_t>(counters[busy_ms]) * ns_per_ms;
    // queue_ms has discards and flushes, too, whose numbers are not in `reads` and `writes`.
    const uint64_t stays_ms = counters[read_ms] + counters[write_ms];
    io.rlentime = static_cast<hrtime_t>(stays_ms) * ns_per_ms;
    io.wlastupdate = taken;  // Solaris' vmstat takes this moment as its clock
    io.rlastupdate = taken;
    // Some kernels before 5.0 have shown -1.
    constexpr uint64_t negative = std::numeric_limits<int>::max();
    io.rcnt = counters[in_flight] > negative ? 0 : static_cast<uint_t>(counters[in_flight]);
    return io;
}

int unit_of(std::string_view disk) {
    for (const std::string_view driver : {"xvd", "sd", "hd", "vd"}) {
        if (!disk.starts_with(driver)) continue;
        std::string_view letters = disk.substr(driver.size());
        int64_t unit = 0;
        for (; !letters.empty() && is_lower(letters.front()); letters.remove_prefix(1)) {
            unit = unit * 26 + (letters.front() - 'a' + 1);
            if (unit > std::numeric_limits<int>::max()) return 0;
        }
        if (unit > 0) return static_cast<int>(unit - 1);
    }
    const size_t digit = disk.find_first_of("0123456789");
    if (digit == std::string_view::npos) return 0;
    const uint64_t unit = leading_number(disk.substr(digit)).value_or(0);
    return unit <= std::numeric_limits<int>::max() ? static_cast<int>(unit) : 0;
}

// If the disk's name ends in a digit, a "p" separates the two numbers.
std::string partition_name(std::string_view disk, std::string_view partition) {
    if (disk.empty() || !partition.starts_with(disk)) return {};
    std::string_view number = partition.substr(disk.size());
    if (is_digit(disk.back())) {
        if (!number.starts_with("p")) return {};
        number.remove_prefix(1);
    }
    if (number.empty() || !std::ranges::all_of(number, is_digit)) return {};
    return std::string(disk) + "," + std::string(number);
}

}  // namespace blkscope::kstat::host
