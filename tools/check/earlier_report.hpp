// A look that was taken earlier, in a file.
//
// The file is the first line of `iostat -jw`, which is since the devices' creation. Behind it,
// `--save` adds to each device the member `commands`, with the errors of each operation. The member
// `histogram_crtimes_ns` has the time of creation of each histogram, also of an empty one. A report
// without devices has the time of its look as `snaptime_ns`.
//
// Threads: any.
// Errors:  std::invalid_argument, one line. The message names the first mistake.
#pragma once

#include <string>

#include "tools/check/judge.hpp"

namespace blkscope::check {

/// The report of a look, with the end of the line.
[[nodiscard]] std::string report_text(const Look& look);

/// The look in the text of a report. Further lines of the report are not read.
[[nodiscard]] Look parse_report(const std::string& text);

/// The look in a file, which may be a pipe.
[[nodiscard]] Look read_report(const std::string& path);

}  // namespace blkscope::check
