// Parsers for the text of /proc and /sys. The functions trust no text: an invalid number is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace blkscope::kstat::host {

/// Removes the first line and returns it, without its end. Nothing: no text is left.
std::optional<std::string_view> take_line(std::string_view& text);

/// Removes the first word, with the blanks around it, and returns it. Empty: no word is left.
std::string_view take_word(std::string_view& text);

std::string_view trimmed(std::string_view text);

/// The decimal number that is the whole text.
std::optional<uint64_t> to_number(std::string_view text);

/// The decimal number at the start of the text, such as the 2700 of 2700.000.
std::optional<uint64_t> leading_number(std::string_view text);

/// The text after `key` and blanks, in the first line that begins with the word `key`.
std::optional<std::string_view> rest_of_line(std::string_view text, std::string_view key);

/// The number after `key`; 0 if there is none.
uint64_t value_of(std::string_view text, std::string_view key);

/// The sum of the values of all lines whose key begins with `prefix`.
uint64_t sum_of(std::string_view text, std::string_view prefix);

}  // namespace blkscope::kstat::host
