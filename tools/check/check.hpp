// blkscope check: holds conditions against the devices, for CI.
//
//     the first look              the last look
//     ────┬───────────────────────────┬────▶ time
//         │◀──────── --for ──────────▶│         or --since: the first look is in a file
#pragma once

#include "tools/check/options.hpp"

namespace blkscope::check {

/// Prints a line for each condition and device, or writes the report of --save.
///
/// Returns the exit status: 0 if all conditions hold, 1 if one does not, else 4. A status of 4 means
/// that there was nothing to measure, also because the statistics cannot be read.
///
/// Errors: throws std::invalid_argument for a malformed condition, time or report.
int run(const Options& options);

}  // namespace blkscope::check
