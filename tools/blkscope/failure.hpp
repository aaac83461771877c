// The text of a failure for the user: "<what>: <why>; <what to do>".
#pragma once

#include <unistd.h>

#include <exception>
#include <string>

namespace blkscope {

/// The exit status after wrong usage.
inline constexpr int bad_usage = 2;

/// The exception's own text. Advice is added if the error number implies it and the text has none.
/// The advice for root is not to become root.
std::string failure_text(const std::exception& failure, bool is_root = geteuid() == 0);

}  // namespace blkscope
