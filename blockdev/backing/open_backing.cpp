#include <algorithm>
#include <array>
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

// A kind of backing, which a specification KIND:TEXT names.
struct Kind {
    std::string_view name;
    std::unique_ptr<Backing> (*open)(const std::string& text, const BackingOptions& options);
};

// Opens a backing whose text is its size.
template <class Sized>
std::unique_ptr<Backing> open_sized(const std::string& text, const BackingOptions&) {
    return std::make_unique<Sized>(parse_size(text));
}

// All kinds except files, which have no name.
constexpr std::array kinds{Kind{"memory", open_sized<MemoryBacking>},
                           Kind{"null", open_sized<NullBacking>}};

// nullptr for a path.
const Kind* find_kind(std::string_view spec) {
    const std::string_view name = spec.substr(0, spec.find(':'));
    if (name.size() == spec.size()) return nullptr;
    const auto* const found = std::ranges::find(kinds, name, &Kind::name);
    return found == kinds.end() ? nullptr : found;
}

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
    const Kind* const kind = find_kind(spec);
    return kind == nullptr ? std::string_view{} : kind->name;
}

std::unique_ptr<Backing> open_backing(const std::string& spec, const BackingOptions& options) {
    const Kind* const kind = find_kind(spec);
    if (kind == nullptr) return std::make_unique<FileBacking>(open_file(spec, options));
    return kind->open(spec.substr(kind->name.size() + 1), options);
}

}  // namespace blkscope
