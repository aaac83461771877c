#include "driver/nbd/text.hpp"

#include <cassert>
#include <cstdint>

#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {
namespace {

constexpr std::size_t printable_source_bytes = 64;

constexpr std::uint8_t byte_at(std::string_view text, std::size_t at) {
    assert(at < text.size());
    return static_cast<std::uint8_t>(text[at]);
}

// The rules that a character's first byte sets: the number of following bytes and the range of the
// second. The range excludes overlong forms, surrogates and numbers above U+10FFFF.
struct Lead {
    std::size_t following;
    std::uint8_t second_min = 0x80;
    std::uint8_t second_max = 0xbf;
};

// For a byte above 0x7f, zero following bytes mean that no character begins with it.
constexpr Lead lead_of(std::uint8_t first) {
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

// The length of the first character in `text`; 0 for an invalid one or NUL.
std::size_t character_bytes(std::string_view text) {
    const std::uint8_t first = byte_at(text, 0);
    if (first < 0x80) return first == 0 ? 0 : 1;
    const Lead lead = lead_of(first);
    if (lead.following == 0 || lead.following >= text.size()) return 0;
    const std::uint8_t second = byte_at(text, 1);
    if (second < lead.second_min || second > lead.second_max) return 0;
    for (std::size_t i = 2; i <= lead.following; ++i) {
        if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
    }
    return lead.following + 1;
}

void append_printable(std::string& to, char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\' && c != '"') {
        to += c;
        return;
    }
    to += "\\x";
    to += digits[byte >> 4];
    to += digits[byte & 0xf];
}

}  // namespace

bool valid_string(std::string_view text) {
    if (text.size() > string_bytes_max) return false;
    while (!text.empty()) {
        const std::size_t bytes = character_bytes(text);
        if (bytes == 0) return false;
        text.remove_prefix(bytes);
    }
    return true;
}

std::string printable(std::string_view text) {
    std::string shown;
    for (const char c : text.substr(0, printable_source_bytes)) append_printable(shown, c);
    if (text.size() > printable_source_bytes) shown += "...";
    return shown;
}

}  // namespace blkscope::nbd
