// Kstats as JSON.
#pragma once

#include <optional>

#include "tools/kstat/format.hpp"
#include "tools/kstat/statistic.hpp"
#include "tools/program/json.hpp"

namespace blkscope::kstat_command {

/// A value. Numbers and moments become numbers, and texts become strings. A null string and a
/// number that is not finite become null.
[[nodiscard]] program::Json json_value(const Value& value);

/// One kstat. `time`, if given, is its member "time". Of several statistics with one name, only
/// the first is in the object.
[[nodiscard]] program::Json json_object(const Reading& kstat, const Chosen& chosen,
                                        const std::optional<program::Json>& time);

}  // namespace blkscope::kstat_command
