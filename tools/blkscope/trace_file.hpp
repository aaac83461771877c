// TraceFile: reads a trace from a file that a command names, in any format that is read.
//
// Threads: any.
// Errors:  std::system_error if the file cannot be read. std::runtime_error with the path and the
//          reason, if it is no whole trace.
#pragma once

#include <string>

#include "trace/request.hpp"

namespace blkscope {

[[nodiscard]] trace::Trace read_trace_file(const std::string& path);

}  // namespace blkscope
