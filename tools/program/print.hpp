// Output: reports on standard output, complaints on standard error.
#pragma once

#include <string_view>
#include <system_error>

namespace blkscope::program {

/// The process that reads our output has closed it.
struct OutputClosed : std::system_error {
    using std::system_error::system_error;
};

/// Writes the whole text in one call, so that a pipe gets complete reports.
///
/// Errors: throws OutputClosed, and std::system_error with the text `doing`.
void print(std::string_view text, const char* doing = "cannot write");

/// Writes to standard error. Ignores a failure, because there is no place to report it.
void complain(std::string_view text);

}  // namespace blkscope::program
