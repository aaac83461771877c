// Draws a histogram: one row for each bucket from the first to the last that is not empty.
//
//     512 us – 1.023 ms | ########                                |         12 |  14.81 %
//
// Both bounds belong to the bucket. Counts have no unit.
#pragma once

#include <optional>
#include <string>

#include "tools/kstat2/statistic.hpp"

namespace blkscope::kstat2_command {

/// The rows, each with `indent` in front and a newline at its end. If nothing was counted, one row
/// says so. None if the kstat is no histogram, or if its bounds cannot be computed. The bounds are
/// the provider's numbers; if `scaled`, they are in the unit of the values.
[[nodiscard]] std::optional<std::string> draw_histogram(const Reading& reading,
                                                        std::string_view indent, bool scaled);

}  // namespace blkscope::kstat2_command
