// The command line of kstat and its meaning.
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

/// The exit status for a wrong command line.
constexpr int wrong_usage = 2;

enum class Format {
    blocks,  // a header per kstat, its statistics below it
    tabs,    // -p: module:instance:name:statistic, a tab, the value
    colons,  // -C: the same with a colon
    names,   // -l: the same without the value
    json     // -j
};

/// A valid command line.
struct Options {
    Format format = Format::blocks;
    bool class_listed = false;        // with -p, -C, -l: the class is one of the statistics
    bool quiet = false;               // -q: no statistics, only the exit status
    Stamp stamp = Stamp::none;        // -T
    Pattern kstat_class;              // -c
    std::vector<Selector> selectors;  // at least one; each prints its own selection
    std::optional<int> interval_s;    // none: one report
    std::optional<int> count;         // number of reports; none with an interval: no end
};

/// Parses `arguments` (the program's name first). The first operand that is a decimal number is
/// the interval, and the second is the count. All other operands are selectors, in any order.
///
/// Threads: one at a time, as read_options().
/// Source:  kstat(1M).
[[nodiscard]] program::Parsed<Options> parse_options(const std::vector<std::string>& arguments);

/// The synopsis, which is printed after a wrong command line.
[[nodiscard]] std::string usage_text();

/// The help text, which fits one screen: the options, the patterns, and the exit status.
[[nodiscard]] std::string help_text();

}  // namespace blkscope::kstat_command
