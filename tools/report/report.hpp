// blkscope report: runs a command, looks at every device meanwhile, and writes one file.
//
//     first look ── the command begins ── looks, one each --every ── it ends ── last look ── the file
//
// SIGINT and SIGTERM end the command, and the file has what there was. A terminal sends SIGINT to the command, too.
// SIGTERM is passed on.
#pragma once

#include "tools/report/options.hpp"

namespace blkscope::report {

/// Returns the exit status: that of the command, and 128 and the signal if a signal ended the command.
/// If that was 0 and a condition does not hold, 125.
///
/// Errors: throws std::invalid_argument for malformed options. std::system_error if the command cannot
///         be started, or the file cannot be written.
int run(const Options& options);

}  // namespace blkscope::report
