// A histogram drawn: one row for each bucket from the first to the last that has something.
//
//     512 us – 1.023 ms | ########                                |         12 |  14.81 %
//
// Both ends of a bucket belong to it. Bounds have the unit of what is counted; counts have none.
#pragma once

#include <optional>
#include <string>

#include "tools/kstat2/statistic.hpp"

namespace blkscope::kstat2_command {

/// The rows, each with `indent` in front and a newline behind; one that says so if nothing was
/// counted. Nothing: it is no histogram, or not one whose bounds can be told.
[[nodiscard]] std::optional<std::string> draw_histogram(const Reading& reading,
                                                        std::string_view indent);

}  // namespace blkscope::kstat2_command
