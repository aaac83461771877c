// The facts of a trace in a csv file: a column of that name, which the first request has.
//
//     facts
//     "lost=0;model=read=exp:1ms,servers=1;queue_depth=128;realtime_ns=1764398000000000000;size_bytes=1048576"
//
// They are what the header of our own file has. A row of its own, or a comment, would be in the way of
// programs that read a table. A ';' or '\' of a fact stands behind a '\'.
//
// Ownership: borrows for the call.
// Threads:   any; pure functions.
// Errors:    take_facts() returns one line, empty for none.
#pragma once

#include <string>
#include <string_view>

#include "trace/request.hpp"

namespace blkscope::trace {

inline constexpr std::string_view facts_column = "facts";

[[nodiscard]] std::string facts_text(const Trace& trace);

/// Sets properties, lost requests and the offset of the clock.
[[nodiscard]] std::string take_facts(std::string_view text, Trace& trace);

/// The text as a field of csv: in quotes if it needs them.
[[nodiscard]] std::string csv_field(const std::string& text);

}  // namespace blkscope::trace
