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

// Opens a backing whose text is its size.
template <class Sized>
std::unique_ptr<Backing> open_sized(const std::string& spec, const BackingOptions&) {
    return std::make_unique<Sized>(parse_size(spec.substr(spec.find(':') + 1)));
}

constexpr std::array local{BackingScheme{"memory", open_sized<MemoryBacking>},
                           BackingScheme{"null", open_sized<NullBacking>}};

// nullptr for a path.
const BackingScheme* find_scheme(std::string_view spec, BackingSchemes schemes) {
    const std::string_view name = spec.substr(0, spec.find(':'));
    if (name.size() == spec.size()) return nullptr;
    const auto found = std::ranges::find(schemes, name, &BackingScheme::name);
    return found == schemes.end() ? nullptr : &*found;
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

BackingSchemes local_schemes() {
    return local;
}

std::string_view backing_kind(std::string_view spec, BackingSchemes schemes) {
    const BackingScheme* const scheme = find_scheme(spec, schemes);
    return scheme == nullptr ? std::string_view{} : scheme->name;
}

std::unique_ptr<Backing> open_backing(const std::string& spec, const BackingOptions& options,
                                      BackingSchemes schemes) {
    const BackingScheme* const scheme = find_scheme(spec, schemes);
    if (scheme == nullptr) return std::make_unique<FileBacking>(open_file(spec, options));
    return scheme->open(spec, options);
}

}  // namespace blkscope
