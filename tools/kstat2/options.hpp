// The command line of kstat2 and its meaning.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/program/options.hpp"
#include "tools/program/stamp.hpp"

namespace blkscope::kstat2_command {

using program::Help;
using program::Refusal;
using program::Stamp;

/// The exit status for a wrong command line.
constexpr int wrong_usage = 2;

enum class Format {
    blocks,  // a line per kstat, its values below it, histograms drawn
    tabs,    // -p: URI:stat, a tab, the value
    names,   // -l: the same without the value
    json,    // -j
    quiet    // -q: no output, only the exit status
};

/// An operand: the kstat of a URI and all kstats below it, or one value of that kstat.
struct Operand {
    std::string uri;                       // with its scheme
    std::optional<std::string> statistic;  // never empty
};

/// A valid command line.
struct Options {
    Format format = Format::blocks;
    bool scaled = false;        // -h: numbers in the units of their metadata
    bool descriptions = false;  // -d
    bool metadata = false;      // -m
    Stamp stamp = Stamp::none;  // -T
    std::vector<std::string> globs;
    std::vector<std::string> expressions;
    std::vector<Operand> operands;
    std::optional<int> interval_s;  // none: one report
    std::optional<int> count;       // number of reports; none with an interval: no end
};

/// Parses "kstat:/a/b" or "/a/b", with or without ";name" or ":name" at its end. None: other text.
[[nodiscard]] std::optional<Operand> parse_operand(std::string_view text);

/// Parses `arguments` (the program's name first).
///
/// Threads: one at a time, as read_options().
/// Source:  kstat2(8).
[[nodiscard]] program::Parsed<Options> parse_options(const std::vector<std::string>& arguments);

[[nodiscard]] std::string usage_text();
[[nodiscard]] std::string help_text();

}  // namespace blkscope::kstat2_command
