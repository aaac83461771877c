// The command line of kstat2, and what it means.
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

/// The exit status of a command line that is not obeyed.
constexpr int wrong_usage = 2;

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

/// "kstat:/a/b", "/a/b", and with ";name" or ":name" behind it. Nothing: it is none of these.
[[nodiscard]] std::optional<Operand> parse_operand(std::string_view text);

/// Understands `arguments` (the program's name first).
///
/// Threads: one at a time, as read_options().
/// Source:  kstat2(8).
[[nodiscard]] program::Parsed<Options> parse_options(std::vector<std::string> arguments);

[[nodiscard]] std::string usage_text();
[[nodiscard]] std::string help_text();

}  // namespace blkscope::kstat2_command
