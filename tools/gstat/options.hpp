// The command line of gstat and its meaning.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tools/program/options.hpp"

namespace blkscope::gstat {

using program::Help;
using program::Refusal;

struct Options {
    bool active_only = false;    // -a: at least 0.1 percent busy
    bool once = false;           // -b
    bool batch = false;          // -b, -B, -C: no screen
    bool consumers = false;      // -c
    bool csv = false;            // -C
    bool deletes = false;        // -d
    bool others = false;         // -o
    bool physical_only = false;  // -p: no partitions
    bool sizes = false;          // -s
    std::string filter;          // -f: an extended regular expression
    std::chrono::microseconds interval = std::chrono::seconds(1);  // -I
};

/// Parses `arguments` (the program's name first). Whether standard output is a terminal decides
/// the default: the screen, or one report.
/// The exit status of a refusal is 64, as in FreeBSD's programs.
///
/// Threads: one at a time, as read_options().
[[nodiscard]] program::Parsed<Options> parse_options(std::vector<std::string> arguments,
                                                     bool to_terminal);

[[nodiscard]] std::string help_text();

}  // namespace blkscope::gstat
