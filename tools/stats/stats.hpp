// blkscope stats: prints once how the devices' requests are spread.
#pragma once

#include "tools/stats/options.hpp"

namespace blkscope::stats_command {

/// Errors: throws std::system_error or std::runtime_error, also if there is no such device.
void run(const Options& options);

}  // namespace blkscope::stats_command
