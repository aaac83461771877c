// blkscope top: looks at the devices at intervals, on a screen or line by line.
#pragma once

#include "tools/top/options.hpp"

namespace blkscope::top {

/// Runs until the user, the count or a signal ends it. A signal ends the process as if nobody had
/// handled it, once the terminal is as it was.
///
/// Errors: throws std::system_error or std::runtime_error.
void run(const Options& options);

}  // namespace blkscope::top
