// The text forms of a kstat.
#pragma once

#include <optional>
#include <string>

#include "tools/kstat2/options.hpp"
#include "tools/kstat2/statistic.hpp"
#include "tools/program/json.hpp"

namespace blkscope::kstat2_command {

/// A value as text. Numbers stay as they are, arrays become [a,b], and a value without meaning
/// becomes "-". A control character in a string becomes \ooo, so that a value is one line.
[[nodiscard]] std::string value_text(const Value& value);

/// Adds the form Format::blocks of a kstat: its URI, a line per statistic, and an empty line. The
/// buckets of a histogram are drawn.
void append_block(std::string& out, const Options& options, const Reading& reading);

/// Adds a line per statistic, in the form Format::tabs or names.
void append_lines(std::string& out, const Options& options, const Reading& reading);

/// The kstat as a JSON object. `time`, if given, is its member "time".
[[nodiscard]] program::Json json_object(const Reading& reading,
                                        const std::optional<program::Json>& time);

}  // namespace blkscope::kstat2_command
