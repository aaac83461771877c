// The time of a report, as option -T of the tools asks for it.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "tools/program/json.hpp"

namespace blkscope::program {

enum class Stamp { none, epoch, date };

/// Dates are printed in the user's language from here on; numbers are not.
///
/// Threads: called by main(), before any thread can exist.
void use_language_for_dates();

/// The stamp for the argument of -T: u or d.
[[nodiscard]] std::optional<Stamp> stamp_of(std::string_view letter);

/// The line of -T: the seconds, or the output of date(1); empty without -T.
///
/// Threads: reads the process's time zone and LC_TIME.
[[nodiscard]] std::string stamp_line(std::time_t now, Stamp stamp);

/// The stamp as a value in JSON: a number or a string; none without -T.
[[nodiscard]] std::optional<Json> stamp_value(std::time_t now, Stamp stamp);

}  // namespace blkscope::program
