// The providers whose statistics the reader libraries leave out. There is a line for each one, and a
// program that asserts on numbers gets their sockets.
//
// Ownership: the process has one set of sockets.
// Threads:   any for take_left_out(). The others change the environment, so no thread may exist yet.
// Errors:    none.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace blkscope::program {

/// From now on the reader libraries write a line about each provider that they leave out. The user's
/// own KSTAT_WARN wins.
void warn_of_silent_providers(std::string_view program);

/// For a program that draws a screen, which such a line would destroy.
void keep_quiet_about_providers();

/// The sockets of the providers that were left out since the last call.
[[nodiscard]] std::set<std::string> take_left_out();

}  // namespace blkscope::program
