// What a failure is told to a person as: "<what>: <why>; <what to do>".
#pragma once

#include <exception>
#include <string>

namespace blkscope {

/// The exception's own words, and what to do about it where the error number says it and the words
/// do not.
std::string failure_text(const std::exception& failure);

}  // namespace blkscope
