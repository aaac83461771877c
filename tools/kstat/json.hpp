// Kstats as JSON.
#pragma once

#include <optional>

#include "tools/kstat/format.hpp"
#include "tools/kstat/statistic.hpp"
#include "tools/program/json.hpp"

namespace blkscope::kstat_command {

/// A value: numbers and moments as numbers; texts as strings; a null string, and what is no finite
/// number, as null.
[[nodiscard]] program::Json json_value(const Value& value);

/// One kstat. `time`, if there is one, is its member "time". Where several statistics have one name,
/// the first stands for them all.
[[nodiscard]] program::Json json_object(const Reading& kstat, const Chosen& chosen,
                                        const std::optional<program::Json>& time);

}  // namespace blkscope::kstat_command
