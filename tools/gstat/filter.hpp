// Which names are shown: those in which an extended regular expression is found.
#pragma once

#include <regex.h>

#include <optional>
#include <string>

namespace blkscope::gstat {

/// Threads: one. Source: regcomp(3).
class Filter {
  public:
    /// An empty one shows everything, and so does one that is no expression: see problem().
    explicit Filter(const std::string& expression);
    ~Filter();
    Filter(const Filter&) = delete;
    Filter& operator=(const Filter&) = delete;

    /// Why it is no expression; nothing where it is.
    [[nodiscard]] std::optional<std::string> problem() const { return problem_; }

    [[nodiscard]] bool shows(const std::string& name) const;

  private:
    bool compiled_ = false;
    regex_t regex_{};
    std::optional<std::string> problem_;
};

}  // namespace blkscope::gstat
