// The answer of a server at its control socket, as the commands read it.
//
// Root asks the servers of all users. So an answer may be any bytes.
//
// Threads: any.
// Errors:  std::runtime_error for an answer that is none, and for a failure that the server tells.
//          std::invalid_argument if the server calls the request bad input.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "tools/blkscope/strict_json.hpp"

namespace blkscope {

/// Throws the error about a wrong answer, which is the server's failure.
[[noreturn]] void refuse_answer(const std::string& why);

/// A whole number of the answer.
[[nodiscard]] uint64_t count_at(const StrictJson& told, const char* key,
                                uint64_t most = std::numeric_limits<uint64_t>::max());

/// A time in nanoseconds. Neither a sum nor a difference of two of them overflows.
[[nodiscard]] int64_t time_at(const StrictJson& told, const char* key);

/// The answer in a line, if the server has done what was asked. The answer is an object. Its texts and
/// keys have no control characters.
StrictJson parse_answer(const std::string& line);

}  // namespace blkscope
