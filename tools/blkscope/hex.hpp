// Hexadecimal text of bytes, as records travel in a line of JSON.
//
// Threads: any.
// Errors:  bytes_of_hex() returns nothing if the text is not pairs of digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope {

inline std::string hex_of(std::span<const std::byte> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(bytes.size() * 2, '0');
    for (size_t i = 0; i < bytes.size(); ++i) {
        text[2 * i] = digits[std::to_integer<uint8_t>(bytes[i]) >> 4];
        text[2 * i + 1] = digits[std::to_integer<uint8_t>(bytes[i]) & 15];
    }
    return text;
}

inline std::optional<std::vector<std::byte>> bytes_of_hex(std::string_view text) {
    const auto value_of = [](char c) {
        if (c >= '0' && c <= '9') return c - '0';
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    if (text.size() % 2 != 0) return {};
    std::vector<std::byte> bytes(text.size() / 2);
    for (size_t i = 0; i < bytes.size(); ++i) {
        const int high = value_of(text[2 * i]);
        const int low = value_of(text[2 * i + 1]);
        if (high < 0 || low < 0) return {};
        bytes[i] = static_cast<std::byte>(high << 4 | low);
    }
    return bytes;
}

}  // namespace blkscope
