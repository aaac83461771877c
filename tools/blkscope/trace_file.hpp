// TraceFile: reads a trace from a file that a command names, in any format that is read.
//
// Threads: any.
// Errors:  std::system_error if the file cannot be read. std::runtime_error with the path and the
//          reason, if it is no whole trace. std::invalid_argument if it is no file or pipe, or too large.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "trace/request.hpp"

namespace blkscope {

/// A larger trace is refused. Reading takes about twice the memory of the file: its bytes, and its
/// requests with 104 bytes each.
inline constexpr size_t trace_bytes_max = size_t{4} << 30;

/// Where there is no such file, but PATH.blktrace.0 and others, as blktrace names those of its processors, all
/// of these are the trace. Of one of them alone, a note names the others.
[[nodiscard]] trace::Trace read_trace_file(const std::string& path, const std::string& device = {});

/// Tells the user of `command` what the file does not say, on standard error.
void show_notes(const trace::Trace& trace, std::string_view command);

}  // namespace blkscope
