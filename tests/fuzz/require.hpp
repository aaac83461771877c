// Requirements of the fuzz targets. A fuzzer keeps the input of a process that aborts.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

inline void require(bool truth) {
    if (!truth) std::abort();
}

/// Whether the text has no control character, and so cannot move a terminal's cursor.
inline bool is_printable(std::string_view text) {
    return std::ranges::none_of(text, [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; });
}
