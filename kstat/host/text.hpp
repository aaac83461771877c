// The text of /proc and /sys, taken apart. Nothing here trusts it: what is not a number is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace blkscope::kstat::host {

/// Cuts the first line off, without its end. Nothing: no text is left.
std::optional<std::string_view> take_line(std::string_view& text);

/// Cuts the first word off, and the blanks around it. Empty: there is none.
std::string_view take_word(std::string_view& text);

std::string_view trimmed(std::string_view text);

/// The decimal number that the text is, whole.
std::optional<uint64_t> to_number(std::string_view text);

/// The decimal number that the text begins with, as the 2700 of 2700.000.
std::optional<uint64_t> leading_number(std::string_view text);

/// What follows `key` and blanks, in the first line that begins with the word `key`.
std::optional<std::string_view> rest_of_line(std::string_view text, std::string_view key);

/// The number that follows `key`; 0 if there is none.
uint64_t value_of(std::string_view text, std::string_view key);

/// The sum of the values of all lines whose key begins with `prefix`.
uint64_t sum_of(std::string_view text, std::string_view prefix);

}  // namespace blkscope::kstat::host
