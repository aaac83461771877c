// When a report was made, as the tools' option -T asks for it.
#pragma once

#include <ctime>
#include <string>

namespace blkscope {

enum class Stamp { none, epoch, date };

/// The line of -T: the seconds, or what date(1) prints; empty without -T.
///
/// Threads: reads the process's time zone and LC_TIME.
[[nodiscard]] std::string stamp_line(std::time_t now, Stamp stamp);

}  // namespace blkscope
