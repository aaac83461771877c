// Printing: reports on standard output, complaints on standard error.
#pragma once

#include <string_view>
#include <system_error>

namespace blkscope::program {

/// The reader of our output has closed it.
struct OutputClosed : std::system_error {
    using std::system_error::system_error;
};

/// Writes all of it at once, so that a pipe is given whole reports.
///
/// Errors: throws OutputClosed, and std::system_error that says `doing`.
void print(std::string_view text, const char* doing = "cannot write");

/// Has nowhere to tell of a failure.
void complain(std::string_view text);

}  // namespace blkscope::program
