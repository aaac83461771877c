// What kstat says about itself.
#ifndef KSTAT_USAGE_HPP
#define KSTAT_USAGE_HPP

#include <string>

namespace blkscope::kstat_command {

/// The synopsis, after a wrong command line.
[[nodiscard]] std::string usage_text();

/// One screen: the options, the patterns, and the exit status.
[[nodiscard]] std::string help_text();

}  // namespace blkscope::kstat_command

#endif
