#include "driver/nbd/text.hpp"

#include <cstdint>

#include "base/utf8.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {
namespace {

constexpr size_t printable_source_bytes = 64;

void append_printable(std::string& to, char c, bool quoted) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\' && (c != '"' || !quoted)) {
        to += c;
        return;
    }
    to += "\\x";
    to += digits[byte >> 4];
    to += digits[byte & 0xf];
}

std::string printable_text(std::string_view text, bool quoted) {
    std::string shown;
    for (const char c : text.substr(0, printable_source_bytes)) append_printable(shown, c, quoted);
    if (text.size() > printable_source_bytes) shown += "...";
    return shown;
}

}  // namespace

bool valid_string(std::string_view text) {
    return text.size() <= string_bytes_max && text.find('\0') == text.npos && is_utf8(text);
}

std::string printable(std::string_view text) {
    return printable_text(text, true);
}

std::string printable_message(std::string_view text) {
    return printable_text(text, false);
}

}  // namespace blkscope::nbd
