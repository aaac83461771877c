// UTF-8, checked strictly: no overlong form, no surrogate, nothing above U+10FFFF.
//
// Units:   bytes, not characters.
// Threads: pure functions.
// Errors:  none; both functions accept any bytes.
// Source:  RFC 3629, section 4.
#pragma once

#include <cstddef>
#include <string_view>

namespace blkscope {

/// The length of the first character in `text`; 0 if `text` is empty or begins with no character.
/// NUL is a character.
[[nodiscard]] size_t utf8_length(std::string_view text);

/// True if the whole text consists of characters.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace blkscope
