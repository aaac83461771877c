// Times for people, and the line of a stage in the tables of blkscope explain: mean, share and bar.
//
// Units: nanoseconds. Threads: any. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace blkscope {

/// A time with its unit.
[[nodiscard]] std::string time_text(double ns);

/// Milliseconds without a unit, for a column.
[[nodiscard]] std::string ms_text(int64_t ns);

/// `all` is the time of all stages, of which the stage has its share.
[[nodiscard]] std::string stage_line(std::string_view name, double ns, double all,
                                     std::optional<uint64_t> p99 = {});

}  // namespace blkscope
