// Regular expressions over the names of kstats.
#pragma once

#include <memory>
#include <stdexcept>
#include <string_view>

namespace blkscope::kstat_command {

/// A pattern that cannot be used; what() says why, in words for the user.
struct BadPattern : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A regular expression. Every POSIX extended expression has its POSIX meaning. PCRE2 adds further
/// syntax (\d, (?i), lookahead ...).
///
/// Where the two differ, POSIX decides:
///
///     brackets     have no escapes ([\.] is a backslash or a dot), but have [[.x.]] and [[=x=]]
///     parentheses  a ')' without a '(' stands for itself
///     newlines     '.' and '$' treat a newline as POSIX says
///
/// A character is a byte.
///
/// Threads: one at a time, copies included.
/// Errors:  throws BadPattern for text that is no expression, and for more than 4096 bytes. Also
///          for an expression that takes too much work or memory to match.
/// Source:  regex(7), pcre2pattern(3), pcre2compat(3).
class Regex {
  public:
    explicit Regex(std::string_view expression);

    /// Whether the expression describes any part of `text`.
    [[nodiscard]] bool matches(std::string_view text) const;

  private:
    struct Compiled;
    std::shared_ptr<const Compiled> compiled_;
};

}  // namespace blkscope::kstat_command
