#include <cassert>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "blockdev/backing/backing.hpp"
#include "blockdev/backing/file_backing.hpp"
#include "blockdev/backing/memory_backing.hpp"
#include "blockdev/backing/open_file.hpp"

namespace blkscope {
namespace {

constexpr std::string_view memory_kind = "memory";
constexpr std::string_view null_kind = "null";

// The bytes that the last letter of a size stands for; 0 for an unknown letter.
uint64_t unit_bytes(char letter) {
    switch (letter) {
        case 'k':
        case 'K':
            return uint64_t{1} << 10;
        case 'm':
        case 'M':
            return uint64_t{1} << 20;
        case 'g':
        case 'G':
            return uint64_t{1} << 30;
        case 't':
        case 'T':
            return uint64_t{1} << 40;
        default:
            return 0;
    }
}

}  // namespace

uint64_t parse_size(const std::string& text) {
    // The offset of a device's last byte must fit the kernel's off_t.
    constexpr auto largest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    const auto bad = [&] {
        return std::invalid_argument("size '" + text +
                                     "': not a positive number, with or without K, M, G or T");
    };
    uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || number == 0) throw bad();
    uint64_t unit = 1;
    if (at != end) {
        unit = unit_bytes(*at);
        if (unit == 0 || at + 1 != end) throw bad();
    }
    if (number > largest / unit) throw bad();
    return number * unit;
}

std::string_view backing_kind(std::string_view spec) {
    const std::string_view kind = spec.substr(0, spec.find(':'));
    if (kind.size() == spec.size()) return {};
    return kind == memory_kind || kind == null_kind ? kind : std::string_view{};
}

std::unique_ptr<Backing> open_backing(const std::string& spec, const BackingOptions& options) {
    const std::string_view kind = backing_kind(spec);
    const auto size_bytes = [&] { return parse_size(spec.substr(kind.size() + 1)); };
    if (kind == memory_kind) return std::make_unique<MemoryBacking>(size_bytes());
    if (kind == null_kind) return std::make_unique<NullBacking>(size_bytes());
    assert(kind.empty());
    return std::make_unique<FileBacking>(open_file(spec, options));
}

}  // namespace blkscope
