// The answer of a server at its control socket, as the commands read it.
//
// Root asks the servers of all users. So an answer may be any bytes.
//
// Threads: any.
// Errors:  std::runtime_error for an answer that is none, and for a failure that the server tells.
//          std::invalid_argument if the server calls the request bad input.
#pragma once

#include <string>

#include "tools/blkscope/strict_json.hpp"

namespace blkscope {

/// Throws the error about a wrong answer, which is the server's failure.
[[noreturn]] void refuse_answer(const std::string& why);

/// The answer in a line, if the server has done what was asked. The answer is an object. Its texts and
/// keys have no control characters.
StrictJson parse_answer(const std::string& line);

}  // namespace blkscope
