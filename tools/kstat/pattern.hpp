// What a user asks for by name: a shell pattern, or a regular expression between slashes.
#pragma once

#include <string_view>
#include <variant>

#include "tools/kstat/glob.hpp"
#include "tools/kstat/regex.hpp"

namespace blkscope::kstat_command {

class Pattern {
  public:
    /// Matches anything.
    Pattern() : Pattern("*") {}

    /// A regular expression if `text` begins and ends with a slash, and these are two; else a shell
    /// pattern. Throws BadPattern.
    explicit Pattern(std::string_view text);

    /// Throws BadPattern if a regular expression takes too much work.
    [[nodiscard]] bool matches(std::string_view text) const;

  private:
    std::variant<Glob, Regex> matcher_;
};

/// One choice of kstats, and of the statistics in them. What is not said matches anything.
struct Selector {
    Pattern module;
    Pattern instance;  // matched as decimal text
    Pattern name;
    Pattern statistic;
};

/// Understands an operand `module:instance:name:statistic`, of which an empty or missing field
/// matches anything.
///
/// Errors: throws BadPattern, with an empty what() if there are more than four fields.
[[nodiscard]] Selector parse_selector(std::string_view operand);

}  // namespace blkscope::kstat_command
