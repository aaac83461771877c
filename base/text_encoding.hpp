// The encoding of a text that a person or another program has made: UTF-8, with or without a mark, or
// another one, which is refused by its name.
//
// Threads: pure functions. Errors: none; both functions accept any bytes.
// Source:  RFC 3629, section 6; the Unicode Standard, section 23.8.
#pragma once

#include <string_view>

namespace blkscope {

/// The text behind the byte order mark of UTF-8, with which many programs begin a file.
[[nodiscard]] constexpr std::string_view without_mark(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

/// "UTF-16" or "UTF-32" if the text begins like one, with a mark or with ASCII; else empty.
[[nodiscard]] constexpr std::string_view wide_encoding(std::string_view text) {
    using namespace std::string_view_literals;
    const auto zero_at = [&](size_t i) { return i < text.size() && text[i] == '\0'; };
    if (text.starts_with("\xff\xfe\0\0"sv) || text.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
    if (text.starts_with("\xff\xfe"sv) || text.starts_with("\xfe\xff"sv)) return "UTF-16";
    if (text.size() < 4) return {};
    const auto is_ascii = [&](size_t i) { return text[i] > '\0' && text[i] < '\x7f'; };
    const bool little = is_ascii(0) && zero_at(1) && is_ascii(2) && zero_at(3);
    const bool big = zero_at(0) && is_ascii(1) && zero_at(2) && is_ascii(3);
    return little || big ? "UTF-16" : std::string_view();
}

}  // namespace blkscope
