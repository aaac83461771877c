// Times and operations for people, and the line of a stage in the tables of blkscope explain: mean, share
// and bar.
//
// Units: nanoseconds. Threads: any. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/request.hpp"

namespace blkscope {

/// A time with its unit.
[[nodiscard]] std::string time_text(double ns);

/// Milliseconds without a unit, for a column.
[[nodiscard]] std::string ms_text(int64_t ns);

/// The operation's name for a column of six characters, as iostat -w has it: "zeroes".
[[nodiscard]] const char* short_name_of(trace::Op op);

/// `all` is the time of all stages, of which the stage has its share.
[[nodiscard]] std::string stage_line(std::string_view name, double ns, double all,
                                     std::optional<uint64_t> p99 = {});

}  // namespace blkscope
