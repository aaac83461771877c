// The command line of iostat and its meaning.
//
// The grammar is that of the original. Short options, which may be grouped (-xnz), come first. Then
// follow device names, an interval and a count. An operand that begins with a digit starts the
// numbers. Some letters of the original choose the report (-c -t -d -D -x -e -E). Any of these
// replaces the default, which is -t -d -c.
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

/// The columns of a device. A report of `extended` is vertical, with a line per device. Reports of
/// transfers and rates are horizontal, with a line per report.
enum class Mode {
    extended,    // -x
    transfers,   // -d, and the default
    rates,       // -D
    none,        // only other classes: -c, -t, -e, -E
    percentiles  // the second table of -q, which no option chooses
};

/// The form in which the paths of a multipath device are shown.
enum class Paths {
    none,
    by_initiator,  // -X: lun.initiator
    by_target      // -Y: lun.target, and each lun.target.initiator
};

/// A valid command line.
struct Options {
    Mode mode = Mode::transfers;
    bool cpu = false;          // -c
    bool tty = false;          // -t
    bool errors = false;       // -e
    bool listing = false;      // -E
    bool waits = false;        // -w: histograms of times, by operation
    bool latencies = false;    // -L: a histogram of latency, by powers of two
    bool percentiles = false;  // -q: a table below that of -x; implies -x
    bool json = false;         // -j: all data, whatever the classes
    Paths paths = Paths::none;
    bool controllers = false;      // -C
    bool device_ids = false;       // -i: in the listing, in place of the serial number
    bool names_last = false;       // -n: the name last, wsvc_t and asvc_t in two columns
    bool mount_points = false;     // -m: behind the name, with -n
    bool counts = false;           // -I: per interval, not per second
    bool megabytes = false;        // -M
    bool microseconds = false;     // -u: three decimals of a millisecond
    bool comma_separated = false;  // -r
    bool changes_silent = false;   // -s
    bool idle_hidden = false;      // -z; has an effect only with -x and -j
    bool first_skipped = false;    // -y: omits the report since the creation
    bool summary = false;          // -S
    bool disks = true;             // false with -P
    bool partitions = false;       // -p, -P
    bool clients = false;          // --clients
    Stamp stamp = Stamp::none;     // -T
    bool must_exist = false;       // --must-exist: a missing device ends the program
    std::optional<int> limit;      // -l: largest number of devices
    std::vector<std::string> devices;
    std::optional<int> interval_s;  // none: one report
    std::optional<int> count;       // number of reports; none with an interval: no end

    /// Whether a report has a line per device, and any number of devices.
    [[nodiscard]] bool vertical() const {
        return mode == Mode::extended || errors || listing || waits || latencies || json;
    }

    /// Whether the report has devices at all.
    [[nodiscard]] bool devices_wanted() const { return mode != Mode::none || vertical(); }

    /// Whether histograms must be read.
    [[nodiscard]] bool histograms_wanted() const { return waits || latencies || percentiles; }

    /// Whether error kstats must be read.
    [[nodiscard]] bool errors_wanted() const { return errors || listing || json; }
};

/// Parses `arguments` (the program's name first). A refusal has the exit status 1 for wrong usage.
/// A refusal of a value or an option that is not supported has 2.
///
/// Threads: one at a time, as read_options().
[[nodiscard]] program::Parsed<Options> parse_options(std::vector<std::string> arguments);

/// The synopsis, which is printed on standard error after a wrong command line.
[[nodiscard]] std::string usage_text();

/// The help text, which fits one screen: options, columns with units, and common mistakes.
[[nodiscard]] std::string help_text();

}  // namespace blkscope::iostat
