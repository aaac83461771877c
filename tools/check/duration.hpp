// The time for which `blkscope check` watches.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace blkscope::check {

/// The time of --for, as 500ms, 10s or 2m: up to a day. None for any other text.
[[nodiscard]] std::optional<std::chrono::milliseconds> duration_of(std::string_view text);

}  // namespace blkscope::check
