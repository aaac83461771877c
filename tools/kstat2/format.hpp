// How kstats are written down, in each of the forms there are.
#pragma once

#include <string>
#include <string_view>

#include "tools/kstat2/options.hpp"
#include "tools/kstat2/statistic.hpp"

namespace blkscope::kstat2_command {

/// A value as text: numbers as they are, arrays as [a,b], what means nothing as "-". Control
/// characters of strings come as \ooo, so that a value is one line.
[[nodiscard]] std::string value_text(const Value& value);

/// Adds what Format::blocks shows of a kstat: its URI, a line per statistic, an empty line; a
/// histogram's buckets drawn.
void append_block(std::string& out, const Options& options, const Reading& reading);

/// Adds a line per statistic, as Format::tabs or names.
void append_lines(std::string& out, const Options& options, const Reading& reading);

/// Adds the kstat as a JSON object. `time`, unless it is empty, is the value of its member "time".
void append_object(std::string& out, const Reading& reading, std::string_view time);

}  // namespace blkscope::kstat2_command
