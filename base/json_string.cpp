#include "base/json_string.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace blkscope {
namespace {

// The number of bytes at the front that a JSON string can hold unescaped; 0: the first cannot.
size_t plain_length(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first == '"' || first == '\\' || first < 0x20 || first == 0x7f) return 0;
    return utf8_length(text);
}

std::string escaped_character(char c) {
    switch (c) {
        case '"':
            return "\\\"";
        case '\\':
            return "\\\\";
        case '\n':
            return "\\n";
        case '\t':
            return "\\t";
        default:
            break;
    }
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return {'\\', 'u', '0', '0', digits[byte / 16], digits[byte % 16]};
}

}  // namespace

std::string json_string(std::string_view text) {
    std::string quoted = "\"";
    while (!text.empty()) {
        const size_t plain = plain_length(text);
        if (plain == 0) {
            quoted += escaped_character(text.front());
        } else {
            quoted += text.substr(0, plain);
        }
        text.remove_prefix(std::max<size_t>(plain, 1));
    }
    return quoted + '"';
}

}  // namespace blkscope
