// What iostat says about itself.
#pragma once

#include <string>

namespace blkscope::iostat {

/// The synopsis, for standard error after a wrong command line.
[[nodiscard]] std::string usage_text();

/// One screen: the options, the columns with their units, and how they are misread.
[[nodiscard]] std::string help_text();

}  // namespace blkscope::iostat
