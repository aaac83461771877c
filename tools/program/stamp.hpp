// When a report was made, as the tools' option -T asks for it.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "tools/program/json.hpp"

namespace blkscope::program {

enum class Stamp { none, epoch, date };

/// The stamp that the argument of -T asks for: u or d.
[[nodiscard]] std::optional<Stamp> stamp_of(std::string_view letter);

/// The line of -T: the seconds, or what date(1) prints; empty without -T.
///
/// Threads: reads the process's time zone and LC_TIME.
[[nodiscard]] std::string stamp_line(std::time_t now, Stamp stamp);

/// The same as a value in JSON: a number or a string; none without -T.
[[nodiscard]] std::optional<Json> stamp_value(std::time_t now, Stamp stamp);

}  // namespace blkscope::program
