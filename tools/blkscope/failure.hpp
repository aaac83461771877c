// The text of a failure for the user: "<what>: <why>; <what to do>".
#pragma once

#include <exception>
#include <string>

namespace blkscope {

/// The exception's own text. Advice is added if the error number implies it and the text has none.
std::string failure_text(const std::exception& failure);

}  // namespace blkscope
