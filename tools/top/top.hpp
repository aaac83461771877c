// blkscope top: shows the devices at intervals, on a screen or line by line.
#pragma once

#include "tools/top/options.hpp"

namespace blkscope::top {

/// Runs until the user, the count or a signal ends the run. After the terminal is restored, a
/// signal has its default action on the process.
///
/// Errors: throws std::system_error or std::runtime_error.
void run(const Options& options);

}  // namespace blkscope::top
