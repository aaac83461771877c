// What kstat says about itself.
#pragma once

#include <string>

namespace blkscope::kstat_command {

/// The synopsis, after a wrong command line.
[[nodiscard]] std::string usage_text();

/// One screen: the options, the patterns, and the exit status.
[[nodiscard]] std::string help_text();

}  // namespace blkscope::kstat_command
