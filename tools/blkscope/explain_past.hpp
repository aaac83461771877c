// blkscope explain, looking back: where the time of requests went that have ended already.
//
//     explain FILE              the reads and writes of a trace, in any format that is read
//     explain nbd0 --last 60s   those that the server's recorder still has
//
// A stage is of the requests whose two stamps are known. Where some lack one, a line says how many.
//
// Units:   nanoseconds.
// Threads: one.
// Errors:  std::invalid_argument for bad input, of which the exit status is 2. std::runtime_error
//          or std::system_error otherwise.
#pragma once

#include <string>

#include "tools/blkscope/explain.hpp"
#include "trace/request.hpp"

namespace blkscope {

/// Whether the command is about the past.
[[nodiscard]] bool is_of_the_past(const ExplainCommand& command);

/// The screen: a line for each stage, and at the end the sentence.
[[nodiscard]] std::string past_text(const std::string& name, const trace::Trace& trace);

void explain_past(const ExplainCommand& command);

}  // namespace blkscope
