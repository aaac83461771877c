// The command line of FreeBSD's iostat, as --style=freebsd has it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tools/program/options.hpp"

namespace blkscope::iostat::freebsd {

using program::Help;
using program::Refusal;

struct Options {
    bool cpu = false;                  // -C, or neither -d nor -x
    bool tty = false;                  // -T, or neither -d nor -x
    bool busiest_first = false;        // -h
    bool totals = false;               // -I: of the interval, no rates
    bool kilobytes = false;            // -K: blocks of 1024 bytes
    bool old_columns = false;          // -o: sps tps msps
    bool extended = false;             // -x
    bool idle_hidden = false;          // -z
    int devices_max = 0;               // -n, or what fits
    std::vector<std::string> matches;  // -t, each "type,if,pass"
    std::vector<std::string> drives;
    bool must_exist = false;               // --must-exist: a drive that is missing ends it
    std::chrono::milliseconds wait{1000};  // -w
    std::optional<int> count = 1;          // -c; none: without end
    std::string warnings;                  // lines to be told before anything else
};

/// Whether the arguments (the program's name first) ask for this style. Takes --style NAME, or
/// --style=NAME, out of them; a style that there is not is left in, for the others to refuse.
[[nodiscard]] bool take_style(std::vector<std::string>& arguments);

/// Threads: one at a time, as read_options().
[[nodiscard]] program::Parsed<Options> parse_options(std::vector<std::string> arguments);

}  // namespace blkscope::iostat::freebsd
