// Numbers in texts that strangers write.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace blkscope::trace {

/// The number, if the text is one and nothing else, and fits the type.
template <class Number>
[[nodiscard]] std::optional<Number> number_of(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || at != end) return {};
    return number;
}

}  // namespace blkscope::trace
