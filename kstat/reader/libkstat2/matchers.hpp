// The reader's selection of kstat2s, by their URIs.
#pragma once

#include <kstat2.h>

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct pcre2_real_code_8;  // pcre2_code
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

struct kstat2_matcher_list {};

namespace blkscope::kstat2::reader {

/// A regular expression that matches any part of a URI.
///
/// Threads: one at a time, copies included.
class Regex {
  public:
    /// Throws std::invalid_argument for an invalid regular expression; std::bad_alloc.
    explicit Regex(std::string_view expression);

    /// Also false if the match would take more steps than the limit.
    [[nodiscard]] bool matches(std::string_view text) const;

  private:
    std::shared_ptr<pcre2_real_code_8> code_;
    std::shared_ptr<pcre2_real_match_data_8> match_data_;
    std::shared_ptr<pcre2_real_match_context_8> limits_;
};

/// A list of alternatives; an empty list selects everything.
///
/// Threads: one at a time, copies included.
class Matchers : public kstat2_matcher_list {
  public:
    /// Throws std::invalid_argument for an unknown type and for an invalid regular expression.
    void add(kstat2_match_type_t type, std::string_view pattern);

    [[nodiscard]] bool select(const std::string& uri) const;

  private:
    struct Exact {
        std::string uri;
        [[nodiscard]] bool matches(const std::string& text) const { return text == uri; }
    };
    struct Glob {
        std::string pattern;
        [[nodiscard]] bool matches(const std::string& text) const;
    };
    std::vector<std::variant<Exact, Glob, Regex>> matchers_;
};

}  // namespace blkscope::kstat2::reader
