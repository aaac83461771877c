// The command line of kstat2, and what it means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/cadence/stamp.hpp"

namespace blkscope::kstat2_command {

enum class Format {
    blocks,  // a line per kstat, its values below it, histograms drawn
    tabs,    // -p: URI:stat, a tab, the value
    names,   // -l: the same without the value
    json,    // -j
    quiet    // -q: the exit status is all
};

/// What an operand asks for: the kstat of a URI and all below it, or one of that kstat's values.
struct Operand {
    std::string uri;                       // with its scheme
    std::optional<std::string> statistic;  // never empty
};

/// A command line that was understood.
struct Options {
    Format format = Format::blocks;
    bool scaled = false;        // -h: in the units that the metadata tells of
    bool descriptions = false;  // -d
    bool metadata = false;      // -m
    Stamp stamp = Stamp::none;  // -T
    std::vector<std::string> globs;
    std::vector<std::string> expressions;
    std::vector<Operand> operands;
    std::optional<int> interval_s;  // none: one report
    std::optional<int> count;       // reports; none with an interval: for ever
};

/// A command line that asks for the help text.
struct Help {};

/// A command line that is not obeyed: what to print on standard error.
struct Refusal {
    std::string text;
};

/// "kstat:/a/b", "/a/b", and with ";name" or ":name" behind it. Nothing: it is none of these.
[[nodiscard]] std::optional<Operand> parse_operand(std::string_view text);

/// Understands `arguments` (the program's name first).
///
/// Threads: one at a time; getopt(3) keeps its place in globals, which are reset here.
/// Source:  kstat2(8); getopt(3), with its grammar stopping at the first operand as POSIX has it.
[[nodiscard]] std::variant<Options, Help, Refusal> parse_options(
    std::vector<std::string> arguments);

}  // namespace blkscope::kstat2_command
