// The command line: getopt(3) splits it, and a program's own parser gives the parts a meaning.
//
// A parser throws Help or Refusal at the first argument that ends the parsing. parsed() makes a
// result of either.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/decimal.hpp"

namespace blkscope::program {

/// A command line that asks for the help text.
struct Help {};

/// A command line that is not obeyed: the exit status, and what to print on standard error.
struct Refusal {
    int status;
    std::string text;
};

template <class Options>
using Parsed = std::variant<Options, Help, Refusal>;

/// The result of `parse`, returned or thrown.
template <class Parse>
auto parsed(Parse parse) -> Parsed<decltype(parse())> {
    try {
        return parse();
    } catch (const Help& help) {
        return help;
    } catch (const Refusal& refusal) {
        return refusal;
    }
}

/// The letter that stands for a long option, such as --colour. getopt(3) has none of them.
inline constexpr int long_option = '-';

/// Passes each option to `take`: its letter, and its argument or null. The letter is '?' for an
/// option that `grammar` does not have, and ':' for one whose argument is missing. In both cases
/// optopt has the letter itself. For a long option the argument is the whole word, and the word is
/// the last one that is read. Returns the operands, from the first argument that is no option.
///
/// Threads: one at a time; getopt(3) keeps its state in globals, which this function resets.
/// Source:  getopt(3).
[[nodiscard]] std::vector<std::string> read_options(
    std::vector<std::string> arguments, const std::string& grammar,
    const std::function<void(int letter, const char* argument)>& take);

/// The error of an option whose letter is '?' or ':', in the words of Solaris' getopt. For a long
/// option the error names the nearest of `known`.
[[nodiscard]] std::string option_error(int letter, const char* argument,
                                       const std::vector<std::string>& known = {"--help"});

/// The error of such an option in the words of our programs in FreeBSD's form.
[[nodiscard]] std::string freebsd_option_error(int letter, const char* argument,
                                               const std::vector<std::string>& known = {"--help"});

/// The error if one of `operands` looks like an option, which a user has typed too late. The
/// operands are those that read_options() returned for `arguments`. None after the argument "--",
/// with which a user asks for operands of any form. A dash and a digit are a wrong number.
[[nodiscard]] std::optional<std::string> late_option_error(
    const std::vector<std::string>& arguments, const std::vector<std::string>& operands,
    const std::vector<std::string>& known = {"--help"});

/// An option that only sets a member.
template <class Options>
struct Flag {
    char letter;
    bool Options::*member;
};

/// Sets the member of `letter`. False if `letter` is not among the flags.
template <class Options, size_t count>
bool set_flag(Options& options, const std::array<Flag<Options>, count>& flags, int letter) {
    const auto* const flag = std::ranges::find(flags, letter, &Flag<Options>::letter);
    if (flag == flags.end()) return false;
    options.*flag->member = true;
    return true;
}

[[nodiscard]] bool asks_for_help(const std::vector<std::string>& arguments);

using blkscope::decimal;

/// A decimal number of 1 or more that fills the whole text; else none.
[[nodiscard]] std::optional<int> positive(std::string_view text);

[[nodiscard]] bool begins_with_digit(std::string_view text);

}  // namespace blkscope::program
