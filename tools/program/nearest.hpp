// The known word that a user probably meant: for messages about a command or an option that does
// not exist.
//
// Threads: any.
// Errors:  none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope::program {

/// The word of `known` that needs the fewest changed letters to become `word`. None if every known
/// word differs in more than half of its letters, because that is no likeness.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& known);

/// "there is no option '--quue-depth'; the nearest is '--queue-depth'". `word` may have a value
/// behind '='. A known option can only have a wrong value.
[[nodiscard]] std::string no_such_option(std::string_view word,
                                         const std::vector<std::string>& known);

}  // namespace blkscope::program
