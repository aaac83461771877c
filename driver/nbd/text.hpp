// Strings that cross the wire: which ones NBD allows, and how one that a client chose may be shown.
//
// Units:     bytes, not characters.
// Ownership: views are borrowed for the call.
// Threads:   pure functions.
// Errors:    none; both take any bytes at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace blkscope::nbd {

/// Whether `text` may be a name or a description: UTF-8 without a NUL, at most string_bytes_max.
///
/// Strict as RFC 3629 is: no overlong form, no surrogate, nothing above U+10FFFF.
[[nodiscard]] bool valid_string(std::string_view text);

/// The most that printable() returns.
inline constexpr std::size_t printable_bytes_max = 64 * 4 + 3;

/// `text` as it may stand between quotes in a log or in an error's text: printable ASCII, the rest
/// as \xHH, cut after 64 bytes with "..." in place of what is missing. A client that names an
/// export can therefore neither forge a line of our log nor make an answer longer than the protocol
/// allows.
///
/// Source: CVE-2020-10761, a server brought down by the length of its own error text.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace blkscope::nbd
