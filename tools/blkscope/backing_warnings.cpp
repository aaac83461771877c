#include "tools/blkscope/backing_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "blockdev/backing/backing.hpp"
#include "tools/blkscope/backing_schemes.hpp"
#include "tools/blkscope/image_format.hpp"

namespace blkscope {
namespace {

// As in 23.5 GiB.
std::string size_text(uint64_t bytes) {
    constexpr std::array<std::string_view, 6> units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    constexpr double step = 1024;
    auto value = static_cast<double>(bytes);
    size_t unit = 0;
    for (; value >= step && unit + 1 < units.size(); ++unit) value /= step;
    return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string image_warning(const std::string& path, std::string_view format) {
    return fmt::format(
        "{} is a {} image and is served as raw bytes; to serve the disk in it, make the disk a "
        "device with 'qemu-nbd -f {} -c /dev/nbdX {}', or a raw image with 'qemu-img convert -O "
        "raw'",
        path, format, format, path);
}

// Memory is taken when it is written. A server with more can therefore be useful, and starts.
std::string memory_warning(uint64_t wanted, uint64_t room) {
    return fmt::format(
        "memory: {} are more than the {} of memory and swap that this process can have; the kernel "
        "ends the server when clients have written that much",
        size_text(wanted), size_text(room));
}

}  // namespace

std::vector<std::string> backing_warnings(const std::vector<ExportConfig>& exports,
                                          uint64_t memory_room_bytes) {
    constexpr std::string_view memory = "memory";
    std::vector<std::string> lines;
    uint64_t wanted = 0;
    for (const ExportConfig& exp : exports) {
        const std::string_view kind = backing_kind(exp.backing, backing_schemes());
        if (kind == memory) {
            const uint64_t bytes = parse_size(exp.backing.substr(memory.size() + 1));
            wanted += std::min(bytes, std::numeric_limits<uint64_t>::max() - wanted);
        } else if (kind.empty()) {
            const std::string_view format = image_format_of(exp.backing);
            if (!format.empty()) lines.push_back(image_warning(exp.backing, format));
        }
    }
    if (wanted > memory_room_bytes) lines.push_back(memory_warning(wanted, memory_room_bytes));
    return lines;
}

std::string sector_warning(uint64_t size_bytes) {
    constexpr uint64_t sector_bytes = 512;
    const uint64_t rest = size_bytes % sector_bytes;
    if (rest == 0) return {};
    return fmt::format(
        "{} bytes are not whole sectors of {}: attached to Linux, the disk ends after {} bytes, "
        "and the last {} "
        "are not there",
        size_bytes, sector_bytes, size_bytes - rest, rest);
}

}  // namespace blkscope
