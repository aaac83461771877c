// Shell patterns over the names of kstats.
#pragma once

#include <bitset>
#include <optional>
#include <string_view>
#include <vector>

namespace blkscope::kstat_command {

/// A shell pattern, parsed once for many matches.
///
///     *        any number of any characters       [abc-f]   one of these
///     ?        any character                      [!abc-f]  any but these
///     \x       x, in a set too
///
/// A ']' that comes first in a set stands for itself, and so does a '-' that comes first or last.
/// A '[' whose set has no end and a '\' at the end of the pattern stand for themselves too. '/'
/// and a leading '.' are characters like any other. A character is a byte.
///
/// Source: gmatch(3GEN), fnmatch(3).
class Glob {
  public:
    explicit Glob(std::string_view pattern);

    /// Whether the pattern describes the whole of `text`. The time is at most proportional to the
    /// product of their lengths.
    [[nodiscard]] bool matches(std::string_view text) const;

  private:
    using Characters = std::bitset<256>;
    using Element = std::optional<Characters>;  // a set of characters; none: a '*'

    static Element take_element(std::string_view& rest);
    static std::optional<Characters> take_set(std::string_view& rest);

    std::vector<Element> elements_;  // no two '*' side by side
};

}  // namespace blkscope::kstat_command
