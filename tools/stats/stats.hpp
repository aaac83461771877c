// blkscope stats: prints once the distribution of the devices' requests.
#pragma once

#include "tools/stats/options.hpp"

namespace blkscope::stats_command {

/// Errors: throws std::system_error or std::runtime_error, also if a device does not exist.
void run(const Options& options);

}  // namespace blkscope::stats_command
