// How kstats are written down, in each of the forms there are.
#pragma once

#include <optional>
#include <string>

#include "tools/kstat2/options.hpp"
#include "tools/kstat2/statistic.hpp"
#include "tools/program/json.hpp"

namespace blkscope::kstat2_command {

/// A value as text: numbers as they are, arrays as [a,b], what means nothing as "-". Control
/// characters of strings come as \ooo, so that a value is one line.
[[nodiscard]] std::string value_text(const Value& value);

/// Adds what Format::blocks shows of a kstat: its URI, a line per statistic, an empty line; a
/// histogram's buckets drawn.
void append_block(std::string& out, const Options& options, const Reading& reading);

/// Adds a line per statistic, as Format::tabs or names.
void append_lines(std::string& out, const Options& options, const Reading& reading);

/// The kstat as a JSON object. `time`, if there is one, is its member "time".
[[nodiscard]] program::Json json_object(const Reading& reading,
                                        const std::optional<program::Json>& time);

}  // namespace blkscope::kstat2_command
