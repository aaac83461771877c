// The report for those who are no terminal: lines, as `iostat -xn` has them.
#pragma once

#include <string>

#include "tools/top/model.hpp"

namespace blkscope::top {

/// The report on the last look: lines on what came and went, headers, a line per device that is
/// there. Names are padded to nothing: they end the line.
[[nodiscard]] std::string batch_report(const Model& model);

}  // namespace blkscope::top
