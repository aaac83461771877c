// The command line of kstat, and what it means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/kstat/pattern.hpp"
#include "tools/program/options.hpp"
#include "tools/program/stamp.hpp"

namespace blkscope::kstat_command {

using program::Help;
using program::Refusal;
using program::Stamp;

/// The exit status of a command line that is not obeyed.
constexpr int wrong_usage = 2;

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

/// Understands `arguments` (the program's name first). An operand that is a decimal number is the
/// interval, the next such one the count, wherever they stand; every other one is a selector.
///
/// Threads: one at a time, as read_options().
/// Source:  kstat(1M).
[[nodiscard]] program::Parsed<Options> parse_options(std::vector<std::string> arguments);

/// The synopsis, after a wrong command line.
[[nodiscard]] std::string usage_text();

/// One screen: the options, the patterns, and the exit status.
[[nodiscard]] std::string help_text();

}  // namespace blkscope::kstat_command
