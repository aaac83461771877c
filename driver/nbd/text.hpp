// Strings of the protocol: which are valid, and how a client's string is shown in a log.
//
// Units:     bytes, not characters.
// Ownership: views are borrowed for the call.
// Threads:   pure functions.
// Errors:    none; both functions accept any bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace blkscope::nbd {

/// True if `text` may be a name or a description: UTF-8 without NUL, at most string_bytes_max.
[[nodiscard]] bool valid_string(std::string_view text);

/// The size limit of printable()'s result.
inline constexpr size_t printable_bytes_max = 64 * 4 + 3;

/// `text` for use between quotes in a log or an error text. Printable ASCII stays, other bytes
/// become \xHH, and "..." replaces all after 64 bytes.
///
/// So a client cannot forge a log line with an export's name. Nor can the name make an answer
/// longer than the protocol allows.
///
/// Source: CVE-2020-10761, a server that crashed because its own error text was too long.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for a text that stands by itself, such as a server's message: its quotation marks stay.
[[nodiscard]] std::string printable_message(std::string_view text);

}  // namespace blkscope::nbd
