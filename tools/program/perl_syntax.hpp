// Perl's syntax in extended regular expressions, as texts on kstat(1M) show it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace blkscope::program {

/// A pattern that cannot be used; what() says why, in words for the user.
struct BadPattern : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The bytes of a bracket expression behind its '[', with the ']' that ends it: all of `rest` if
/// nothing does. A ']' that comes first does not end it, nor does a backslash quote one.
[[nodiscard]] size_t bracket_bytes(std::string_view rest);

/// The same expression in POSIX' syntax. It writes out \d, \w, \s, \D, \W and \S, in brackets the
/// first three, and (?:...). A lazy repetition such as a+? becomes a+, which matches the same texts.
///
/// Errors: throws BadPattern, which names it, for other syntax of Perl's: (?i), look-around, and a
///         backslash in front of a letter or digit. POSIX leaves these undefined, and the C library
///         reads them as something else in silence. \b, \B and \1 to \9 are left as they are.
/// Source: perlre(1), regex(7).
[[nodiscard]] std::string in_posix_syntax(std::string_view expression);

}  // namespace blkscope::program
