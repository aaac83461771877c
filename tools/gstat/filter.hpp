// The filter of device names: an extended regular expression that must match a part of the name.
#pragma once

#include <optional>
#include <string>

#include "tools/program/regex.hpp"

namespace blkscope::gstat {

/// Threads: one. Source: regcomp(3).
class Filter {
  public:
    /// An empty text shows everything. A text that is no expression does too: see problem().
    explicit Filter(const std::string& expression);

    /// Why the text is no expression; none if it is one.
    [[nodiscard]] std::optional<std::string> problem() const { return problem_; }

    [[nodiscard]] bool shows(const std::string& name) const;

  private:
    std::optional<program::Regex> regex_;
    std::optional<std::string> problem_;
};

}  // namespace blkscope::gstat
