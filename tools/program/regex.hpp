// Regular expressions over names.
#pragma once

#include <memory>
#include <string_view>

#include "tools/program/perl_syntax.hpp"

namespace blkscope::program {

/// A POSIX extended regular expression, as regcomp(3) understands it, with what in_posix_syntax()
/// knows of Perl's. A character is a byte.
///
/// Threads: one at a time, copies included.
/// Errors:  throws BadPattern for text that is no expression, and for more than 4096 bytes. Also
///          for an expression whose repetitions stand for more than 10000 characters, because
///          regcomp(3) would write each of them out. Also for \1 to \9, and for
///          what in_posix_syntax() refuses.
/// Source:  regcomp(3), regex(7), kstat(1M).
class Regex {
  public:
    explicit Regex(std::string_view expression);

    /// Whether the expression describes any part of `text`.
    [[nodiscard]] bool matches(std::string_view text) const;

  private:
    struct Compiled;
    std::shared_ptr<const Compiled> compiled_;
};

}  // namespace blkscope::program
