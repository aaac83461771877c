// How kstats are written down, in each of the forms there are.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/kstat/options.hpp"
#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// The statistics of a kstat that were asked for; there is at least one.
using Chosen = std::vector<const Statistic*>;

/// A value as text: integers as they are; moments in seconds with nine decimals, or 0; a null
/// string as (null).
[[nodiscard]] std::string value_text(const Value& value);

/// Adds what Format::blocks shows of a kstat: a header of two lines, a line per statistic, and an
/// empty line.
void append_block(std::string& out, const Reading& kstat, const Chosen& chosen);

/// Adds a line per statistic, as one of Format::tabs, colons and names.
void append_lines(std::string& out, Format format, const Reading& kstat, const Chosen& chosen);

}  // namespace blkscope::kstat_command
