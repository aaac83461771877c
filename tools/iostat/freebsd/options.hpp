// The command line of FreeBSD's iostat, for --style=freebsd.
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
    bool totals = false;               // -I: totals of the interval, not rates
    bool kilobytes = false;            // -K: blocks of 1024 bytes
    bool old_columns = false;          // -o: sps tps msps
    bool extended = false;             // -x
    bool idle_hidden = false;          // -z
    int devices_max = 0;               // -n; 0: as many as fit
    std::vector<std::string> matches;  // -t, each "type,if,pass"
    std::vector<std::string> drives;
    bool must_exist = false;               // --must-exist: a missing drive ends the program
    std::chrono::milliseconds wait{1000};  // -w
    std::optional<int> count = 1;          // -c; none: no end
    std::string warnings;                  // lines to print before anything else
};

/// Whether the arguments (the program's name first) ask for this style. Removes --style NAME or
/// --style=NAME from the arguments. An unknown style stays, so that the other parser refuses it.
[[nodiscard]] bool take_style(std::vector<std::string>& arguments);

/// Threads: one at a time, as read_options().
[[nodiscard]] program::Parsed<Options> parse_options(std::vector<std::string> arguments);

}  // namespace blkscope::iostat::freebsd
