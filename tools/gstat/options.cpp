#include "tools/gstat/options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/gstat/filter.hpp"

namespace blkscope::gstat {
namespace {

constexpr auto synopsis = "usage: gstat [-abBcCdops] [-f filter] [-I interval]\n";

constexpr auto explanation =
    R"(
Shows what each block device is doing: live on a terminal, else one report.

  -a           only devices that are at least 0.1 percent busy
  -b           one report, after one interval, and exit
  -B           reports without end, one after the other
  -c           consumers too: on FreeBSD those of GEOM, here there are none
  -C           reports as comma-separated values, without end
  -d           deletes (trims): d/s, kBps, ms/d
  -f filter    only devices whose name this extended regular expression finds
  -I interval  between reports: a number and us, ms or s (us without; 1 s);
               0.5s is half a second
  -o           other operations (flushes): o/s, ms/o
  -p           physical devices only, no partitions
  -s           the mean size: kB

  L(q)         requests that are in the device now, waiting or being served
  ops/s        operations per second: r/s reads, w/s writes, d/s deletes,
               o/s others
  kBps         KiB per second
  ms/r ...     mean milliseconds from a request's arrival to its answer
  %busy        percent of the time that any request was in the device; green,
               magenta above 50, red above 80

Keys: > and < double and halve the interval, f sets the filter, F clears it,
      c shows consumers, q ends.
)";

using Flag = program::Flag<Options>;

constexpr std::array flags{
    Flag{'a', &Options::active_only}, Flag{'b', &Options::once},
    Flag{'B', &Options::batch},       Flag{'c', &Options::consumers},
    Flag{'C', &Options::csv},         Flag{'d', &Options::deletes},
    Flag{'o', &Options::others},      Flag{'p', &Options::physical_only},
    Flag{'s', &Options::sizes},
};

constexpr int wrong_usage = 64;  // EX_USAGE

[[noreturn]] void refuse(const std::string& why) {
    throw Refusal{wrong_usage, "gstat: " + why + "\n" + synopsis};
}

// Microseconds of a unit, or 0.
double microseconds_in(std::string_view unit) {
    if (unit.empty() || unit == "us") return 1;
    if (unit == "ms") return 1e3;
    return unit == "s" ? 1e6 : 0;
}

// A number, perhaps with a fraction, followed by its unit. The interval is at least a microsecond;
// less than a microsecond is cut off.
std::optional<std::chrono::microseconds> interval_of(std::string_view text) {
    const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto number = program::decimal<double>(text.substr(0, end));
    constexpr double number_max = 1e9;
    if (!number || *number > number_max) return {};
    // A decimal fraction may be a little below the number that was written: 0.07 s is 70000 us.
    constexpr double rounding = 1e-6;
    const double us = std::floor(*number * microseconds_in(text.substr(end)) + rounding);
    if (!(us >= 1)) return {};
    return std::chrono::microseconds(static_cast<int64_t>(us));
}

void take(Options& options, int letter, const char* argument) {
    if (letter == 'h') throw Help{};
    if (letter == 'f') {
        options.filter = argument;
        const auto why = Filter(options.filter).problem();
        if (!why) return;
        throw Refusal{wrong_usage,
                      "gstat: invalid filter '" + options.filter + "': " + *why + "\n"};
    }
    if (letter == 'I') {
        const auto interval = interval_of(argument);
        if (!interval) refuse("invalid interval '" + std::string(argument) + "'");
        options.interval = *interval;
        return;
    }
    if (program::set_flag(options, flags, letter)) return;
    refuse(program::freebsd_option_error(letter, argument));
}

// -C and -B have no end, also beside -b. Without both, output that is no terminal gets one report.
void settle(Options& options, bool to_terminal) {
    const bool has_no_end = options.batch || options.csv;
    options.once = !has_no_end && (options.once || !to_terminal);
    options.batch = has_no_end || options.once;
}

}  // namespace

std::string help_text() {
    return std::string(synopsis) + explanation;
}

program::Parsed<Options> parse_options(std::vector<std::string> arguments, bool to_terminal) {
    return program::parsed([&] {
        if (program::asks_for_help(arguments)) throw Help{};
        Options options;
        const auto operands = program::read_options(
            std::move(arguments), "abBcCdf:hI:ops",
            [&](int letter, const char* argument) { take(options, letter, argument); });
        if (!operands.empty()) refuse("unexpected operand '" + operands[0] + "'");
        settle(options, to_terminal);
        return options;
    });
}

}  // namespace blkscope::gstat
