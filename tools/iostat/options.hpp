// The command line of iostat, and what it means.
//
// The grammar is the original's: short options that may be grouped (-xnz), then device names, then
// an interval and a count. An operand that begins with a digit starts the numbers. The letters of
// the original that say what is reported (-c -t -d -D -x -e -E) replace its default, which is -t -d
// -c.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/program/options.hpp"
#include "tools/program/stamp.hpp"

namespace blkscope::iostat {

using program::Help;
using program::Refusal;
using program::Stamp;

/// The columns of a device. The first is vertical, a line per device; transfers and rates are
/// horizontal, a line per report.
enum class Mode {
    extended,   // -x
    transfers,  // -d, and by default
    rates,      // -D
    none        // other classes alone: -c, -t, -e, -E
};

/// How the paths of a multipath device are shown.
enum class Paths {
    none,
    by_initiator,  // -X: lun.initiator
    by_target      // -Y: lun.target, and each lun.target.initiator
};

/// A command line that was understood.
struct Options {
    Mode mode = Mode::transfers;
    bool cpu = false;          // -c
    bool tty = false;          // -t
    bool errors = false;       // -e
    bool listing = false;      // -E
    bool waits = false;        // -w: histograms of times, by operation
    bool latencies = false;    // -L: a histogram of latency, by powers of two
    bool percentiles = false;  // -q: with -x, which it means
    bool json = false;         // -j: everything there is, whatever the classes
    Paths paths = Paths::none;
    bool controllers = false;      // -C
    bool device_ids = false;       // -i: in the listing, instead of the serial number
    bool names_last = false;       // -n: the name at the end, wsvc_t and asvc_t apart
    bool mount_points = false;     // -m: behind the name, with -n
    bool counts = false;           // -I: per interval, not per second
    bool megabytes = false;        // -M
    bool microseconds = false;     // -u: three decimals of a millisecond
    bool comma_separated = false;  // -r
    bool changes_silent = false;   // -s
    bool idle_hidden = false;      // -z; means something with -x and -j only
    bool first_skipped = false;    // -y: no report since the creation
    bool summary = false;          // -S
    bool disks = true;             // not with -P
    bool partitions = false;       // -p, -P
    Stamp stamp = Stamp::none;     // -T
    bool must_exist = false;       // --must-exist: a named device that is missing ends it
    std::optional<int> limit;      // -l: devices
    std::vector<std::string> devices;
    std::optional<int> interval_s;  // none: one report
    std::optional<int> count;       // reports; none with an interval: for ever

    /// A line per device, and no end of places.
    [[nodiscard]] bool vertical() const {
        return mode == Mode::extended || errors || listing || waits || latencies || json;
    }

    /// Whether devices are reported on at all.
    [[nodiscard]] bool devices_wanted() const { return mode != Mode::none || vertical(); }

    /// Whether the histograms are read.
    [[nodiscard]] bool histograms_wanted() const { return waits || latencies || percentiles; }

    /// Whether the error kstats are.
    [[nodiscard]] bool errors_wanted() const { return errors || listing || json; }
};

/// Understands `arguments` (the program's name first). A refusal has the exit status 1 for wrong
/// usage, 2 for a value or an option that cannot be had.
///
/// Threads: one at a time, as read_options().
[[nodiscard]] program::Parsed<Options> parse_options(std::vector<std::string> arguments);

/// The synopsis, for standard error after a wrong command line.
[[nodiscard]] std::string usage_text();

/// One screen: the options, the columns with their units, and how they are misread.
[[nodiscard]] std::string help_text();

}  // namespace blkscope::iostat
