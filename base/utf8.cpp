#include "base/utf8.hpp"

#include <cstdint>

namespace blkscope {
namespace {

// The rules that a character's first byte sets: the number of following bytes and the range of the
// second. The range excludes overlong forms, surrogates and numbers above U+10FFFF.
struct Lead {
    size_t following;
    uint8_t second_min = 0x80;
    uint8_t second_max = 0xbf;
};

// For a byte above 0x7f, zero following bytes mean that no character begins with it.
constexpr Lead lead_of(uint8_t first) {
    if (first < 0xc2) return {.following = 0};
    if (first < 0xe0) return {.following = 1};
    if (first == 0xe0) return {.following = 2, .second_min = 0xa0};
    if (first == 0xed) return {.following = 2, .second_max = 0x9f};
    if (first < 0xf0) return {.following = 2};
    if (first == 0xf0) return {.following = 3, .second_min = 0x90};
    if (first < 0xf4) return {.following = 3};
    if (first == 0xf4) return {.following = 3, .second_max = 0x8f};
    return {.following = 0};
}

}  // namespace

size_t utf8_length(std::string_view text) {
    const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
    if (text.empty()) return 0;
    if (byte(0) < 0x80) return 1;
    const Lead lead = lead_of(byte(0));
    if (lead.following == 0 || lead.following >= text.size()) return 0;
    if (byte(1) < lead.second_min || byte(1) > lead.second_max) return 0;
    for (size_t at = 2; at <= lead.following; ++at) {
        if ((byte(at) & 0xc0) != 0x80) return 0;
    }
    return lead.following + 1;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace blkscope
