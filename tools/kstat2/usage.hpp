// What kstat2 says about itself.
#pragma once

#include <string>

namespace blkscope::kstat2_command {

[[nodiscard]] std::string usage_text();
[[nodiscard]] std::string help_text();

}  // namespace blkscope::kstat2_command
