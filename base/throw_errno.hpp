// A set-up that fails with an errno throws it, with what the program was doing.
//
//     if (fd < 0) throw_errno("open " + path);
//
// Threads:   any. errno is the thread's own.
// Errors:    always std::system_error.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace blkscope {

[[noreturn]] inline void throw_errno(const std::string& what, int error = errno) {
    throw std::system_error(error, std::generic_category(), what);
}

}  // namespace blkscope
