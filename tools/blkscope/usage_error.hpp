// What a user is told of a wrong command line: what was typed, what is allowed, and what is nearest.
//
// CLI11's own messages say "Value 0 not in range 0.100000 to 3600.000000" and "x not in {a,b}".
//
// Threads: any.
// Errors:  none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace blkscope {

/// CLI11's message in plain words. A message of another form stays as it is.
std::string plain_reason(const std::string& why);

/// The option among `known` that other programs, or other commands, call `word`; empty if there is none.
std::string option_meant_by(std::string_view word, const std::vector<std::string>& known);

}  // namespace blkscope
