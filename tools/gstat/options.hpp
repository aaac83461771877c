// The command line of gstat, and what it means.
#pragma once

#include <chrono>
#include <string>
#include <variant>
#include <vector>

namespace blkscope::gstat {

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

struct Help {};

/// A command line that is not obeyed: what to print on standard error; the exit status is 64, as
/// that of FreeBSD's programs.
struct Refusal {
    std::string text;
};

/// Understands `arguments` (the program's name first). Whether standard output is a terminal
/// decides what is the default: the screen, or one report.
///
/// Threads: one at a time; getopt(3) keeps its place in globals, which are reset here.
[[nodiscard]] std::variant<Options, Help, Refusal> parse_options(std::vector<std::string> arguments,
                                                                 bool to_terminal);

[[nodiscard]] std::string help_text();

}  // namespace blkscope::gstat
