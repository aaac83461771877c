// blkscope web: serves the statistics over HTTP until a signal ends it.
#pragma once

#include "tools/web/options.hpp"

namespace blkscope::web {

/// Errors: throws std::invalid_argument for options that are refused, and std::system_error if the
/// server cannot listen.
void run(const Options& options);

}  // namespace blkscope::web
