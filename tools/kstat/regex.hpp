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

/// A regular expression: whatever is a POSIX extended one means what POSIX says, and beyond these
/// there is what PCRE2 offers (\d, (?i), lookahead ...).
///
/// The two differ in brackets, where POSIX has no escapes ([\.] is a backslash or a dot) but has
/// [[.x.]] and [[=x=]], in a ')' without a '(', which is itself, and in what '.' and '$' do about
/// newlines. A character is a byte.
///
/// Threads: one at a time, copies included.
/// Errors:  throws BadPattern: for an expression that is none or that is longer than 4096 bytes,
///          and for one that takes too much work or memory to match.
/// Source:  regex(7), pcre2pattern(3), pcre2compat(3).
class Regex {
  public:
    explicit Regex(std::string_view expression);

    /// Whether it describes any part of `text`.
    [[nodiscard]] bool matches(std::string_view text) const;

  private:
    struct Compiled;
    std::shared_ptr<const Compiled> compiled_;
};

}  // namespace blkscope::kstat_command
