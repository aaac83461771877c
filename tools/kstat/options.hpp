// The command line of kstat, and what it means.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tools/cadence/stamp.hpp"
#include "tools/kstat/pattern.hpp"

namespace blkscope::kstat_command {

enum class Format {
    blocks,  // a header per kstat, its statistics below it
    tabs,    // -p: module:instance:name:statistic, a tab, the value
    colons,  // -C: the same with a colon
    names,   // -l: the same without the value
    json     // -j
};

/// A command line that was understood.
struct Options {
    Format format = Format::blocks;
    bool class_listed = false;        // with -p, -C, -l: the class is one of the statistics
    bool quiet = false;               // -q: the exit status is all
    Stamp stamp = Stamp::none;        // -T
    Pattern kstat_class;              // -c
    std::vector<Selector> selectors;  // at least one; each prints what it selects
    std::optional<int> interval_s;    // none: one report
    std::optional<int> count;         // reports; none with an interval: for ever
};

/// A command line that asks for the help text.
struct Help {};

/// A command line that is not obeyed: what to print on standard error.
struct Refusal {
    std::string text;
};

/// Understands `arguments` (the program's name first). An operand that is a decimal number is the
/// interval, the next such one the count, wherever they stand; every other one is a selector.
///
/// Threads: one at a time; getopt(3) keeps its place in globals, which are reset here.
/// Source:  kstat(1M); getopt(3), with its grammar stopping at the first operand as POSIX has it.
[[nodiscard]] std::variant<Options, Help, Refusal> parse_options(
    std::vector<std::string> arguments);

}  // namespace blkscope::kstat_command
