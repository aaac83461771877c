// A pattern for names, as a user gives it: a shell pattern, or a regular expression in slashes.
#pragma once

#include <string_view>
#include <variant>

#include "tools/kstat/glob.hpp"
#include "tools/program/regex.hpp"

namespace blkscope::kstat_command {

using program::BadPattern;
using program::Regex;

class Pattern {
  public:
    /// A pattern that matches anything.
    Pattern() : Pattern("*") {}

    /// A regular expression if `text` begins with one slash and ends with another; else a shell
    /// pattern. Throws BadPattern.
    explicit Pattern(std::string_view text);

    [[nodiscard]] bool matches(std::string_view text) const;

  private:
    std::variant<Glob, Regex> matcher_;
};

/// A selection of kstats and of statistics in them. A part that is not given matches anything.
struct Selector {
    Pattern module;
    Pattern instance;  // matched as decimal text
    Pattern name;
    Pattern statistic;
};

/// Parses an operand `module:instance:name:statistic`. An empty or missing field matches anything.
///
/// Errors: throws BadPattern, with an empty what() if there are more than four fields.
[[nodiscard]] Selector parse_selector(std::string_view operand);

}  // namespace blkscope::kstat_command
