// The report for an output that is no terminal: lines as those of `iostat -xn`.
#pragma once

#include <string>

#include "tools/top/model.hpp"

namespace blkscope::top {

/// The report on the last look: lines about added and removed devices, headers, and a line per
/// present device. Names are not padded, because each name ends its line.
[[nodiscard]] std::string batch_report(const Model& model);

}  // namespace blkscope::top
