#include "tools/top/text.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string_view>

#include "base/clock.hpp"

namespace blkscope::top {
namespace {

constexpr hrtime_t ns_per_ms = 1'000'000;

// Two digits, or more if more stand before the point.
std::string short_number(double value) {
    return value < 9.95 ? fmt::format("{:.2g}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

std::string latency_text(uint64_t ns) {
    if (ns == std::numeric_limits<uint64_t>::max()) return "inf";
    auto value = static_cast<double>(ns);
    constexpr std::array<std::string_view, 4> units{"ns", "us", "ms", "s"};
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    return fmt::format("{}{}", short_number(value), units[unit]);
}

std::string size_text(uint64_t bytes) {
    constexpr std::array<std::string_view, 7> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    constexpr double step = 1024;
    constexpr double largest_in_bytes = 8192;  // sizes of blocks are shown in bytes
    auto value = static_cast<double>(bytes);
    size_t unit = 0;
    if (value <= largest_in_bytes) return fmt::format("{} {}", bytes, units[0]);
    while (value >= step && unit + 1 < units.size()) {
        value /= step;
        ++unit;
    }
    return fmt::format("{} {}", short_number(value), units[unit]);
}

std::string uptime_text(hrtime_t ns) {
    const hrtime_t seconds = ns / ns_per_s;
    const hrtime_t days = seconds / 86400;
    const std::string time =
        fmt::format("{}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    return days == 0 ? time : fmt::format("{}d {}", days, time);
}

std::string span_text(hrtime_t ns) {
    const hrtime_t ms = (ns + ns_per_ms / 2) / ns_per_ms;
    if (ms < 1000) return fmt::format("{}ms", ms);
    if (ms < 10'000 && ms % 1000 >= 50 && ms % 1000 < 950) {
        return fmt::format("{:.1f}s", static_cast<double>(ms) / 1000);
    }
    const hrtime_t seconds = (ms + 500) / 1000;
    if (seconds < 60) return fmt::format("{}s", seconds);
    if (seconds >= 3600) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
    if (seconds % 60 == 0) return fmt::format("{}m", seconds / 60);
    return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
}

}  // namespace blkscope::top
