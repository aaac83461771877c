// Kstats as JSON, which it is whatever a provider puts into its names and strings.
#pragma once

#include <string>
#include <string_view>

#include "tools/kstat/format.hpp"
#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// `text` between quotes. Valid UTF-8 stays; control characters, and bytes that are not UTF-8, are
/// escaped as \u00XX.
[[nodiscard]] std::string json_string(std::string_view text);

/// A value: numbers and moments as numbers; texts as strings; a null string, and what is no finite
/// number, as null.
[[nodiscard]] std::string json_value(const Value& value);

/// Adds one kstat as an object. `time`, unless it is empty, is the JSON value of its member "time".
/// Where several statistics have one name, the first stands for them all.
void append_object(std::string& out, const Reading& kstat, const Chosen& chosen,
                   std::string_view time);

}  // namespace blkscope::kstat_command
