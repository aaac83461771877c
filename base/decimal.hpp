// A number in a text: of a command line, a file, a URI or a peer.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace blkscope {

/// A decimal number that fills the whole text. Nothing if the text is no number, or if the type
/// cannot hold the number. A sign '-' is part of a number of a signed type; a sign '+' never is.
///
/// Threads: any. Errors: none beside nothing.
template <class Number = int>
[[nodiscard]] std::optional<Number> decimal(std::string_view text) {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && at == end ? std::optional(value) : std::nullopt;
}

}  // namespace blkscope
