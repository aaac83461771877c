// The text forms of a kstat.
#pragma once

#include <string>
#include <vector>

#include "tools/kstat/options.hpp"
#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// The selected statistics of a kstat; at least one.
using Chosen = std::vector<const Statistic*>;

/// A value as text. Integers stay as they are. A moment is in seconds with nine decimals, or 0. A
/// null string is (null).
[[nodiscard]] std::string value_text(const Value& value);

/// Adds the form Format::blocks of a kstat: a header of two lines, a line per statistic, and an
/// empty line.
void append_block(std::string& out, const Reading& kstat, const Chosen& chosen);

/// Adds a line per statistic, in the form Format::tabs, colons or names.
void append_lines(std::string& out, Format format, const Reading& kstat, const Chosen& chosen);

}  // namespace blkscope::kstat_command
