// The command line of iostat, and what it means.
//
// The grammar is the original's: short options that may be grouped (-xnz), then device names, then
// an interval and a count. An operand that begins with a digit starts the numbers.
#ifndef IOSTAT_OPTIONS_HPP
#define IOSTAT_OPTIONS_HPP

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace blkscope::iostat {

/// What a report looks like. The first is vertical, a line per device; the others are horizontal, a
/// line per report.
enum class Mode {
    extended,   // -x
    transfers,  // -d, and without any of the three
    rates       // -D
};

enum class Stamp { none, epoch, date };  // -T

/// A command line that was understood.
struct Options {
    Mode mode = Mode::transfers;
    bool names_last = false;       // -n: the name at the end, wsvc_t and asvc_t apart
    bool counts = false;           // -I: per interval, not per second
    bool megabytes = false;        // -M
    bool comma_separated = false;  // -r
    bool changes_silent = false;   // -s
    bool idle_hidden = false;      // -z; means something with -x only
    bool disks = true;             // not with -P
    bool partitions = false;       // -p, -P
    Stamp stamp = Stamp::none;     // -T
    std::optional<int> limit;      // -l: devices
    std::vector<std::string> devices;
    std::optional<int> interval_s;  // none: one report
    std::optional<int> count;       // reports; none with an interval: for ever

    [[nodiscard]] bool vertical() const { return mode == Mode::extended; }
};

/// A command line that asks for the help text.
struct Help {};

/// A command line that is not obeyed: what to print on standard error, and how to exit (1: wrong
/// usage, 2: a value or an option that cannot be had).
struct Refusal {
    int status;
    std::string text;
};

/// Understands `arguments` (the program's name first).
///
/// Threads: one at a time; getopt(3) keeps its place in globals, which are reset here.
/// Source:  getopt(3), with its grammar stopping at the first operand as POSIX has it.
[[nodiscard]] std::variant<Options, Help, Refusal> parse_options(
    std::vector<std::string> arguments);

}  // namespace blkscope::iostat

#endif
