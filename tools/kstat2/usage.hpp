// What kstat2 says about itself.
#ifndef KSTAT2_USAGE_HPP
#define KSTAT2_USAGE_HPP

#include <string>

namespace blkscope::kstat2_command {

[[nodiscard]] std::string usage_text();
[[nodiscard]] std::string help_text();

}  // namespace blkscope::kstat2_command

#endif
