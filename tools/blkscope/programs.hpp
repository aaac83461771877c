// The commands that other programs have, which blkscope becomes: `blkscope iostat -xn 1` is `iostat -xn 1`.
// blkscope itself serves. So a first build, which only serves, compiles two thirds of the whole.
//
//     /usr/bin/blkscope                      build/release/bin/blkscope
//     /usr/libexec/blkscope/blkscope-tools   build/release/bin/blkscope-tools
//     /usr/lib/blkscope/bin/iostat           build/release/bin/iostat
//
// Other packages have programs named iostat and gstat. A distribution therefore installs ours in a
// folder that is not in the user's PATH. No user runs blkscope-tools by its name.
//
// Threads: any.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope {

struct OtherCommand {
    std::string_view name;
    std::string_view purpose;  // for the help
    std::string_view program;
};

inline constexpr std::string_view tools_program = "blkscope-tools";

inline constexpr std::array<OtherCommand, 21> other_commands{{
    {"list", "Show the exports and attached devices of this machine", tools_program},
    {"clients", "Show who causes the work of the devices, sorted by load", tools_program},
    {"explain", "Say where the time of requests goes", tools_program},
    {"slow", "Show the slowest requests of the last minute, and those that hang now",
     tools_program},
    {"trace", "Show or save the recorded requests of a device", tools_program},
    {"predict", "Say what a modelled device would do with a trace or a load", tools_program},
    {"replay", "Send a saved trace to an NBD server", tools_program},
    {"models", "Show the disks that --model and --limit have ready", tools_program},
    {"set", "Change the model, limit or depth of a device", tools_program},
    {"fault", "Add, list and clear the faults of a device", tools_program},
    {"clear-error", "Forget a sync that failed", tools_program},
    {"crash", "Let a device with a crash cache lose its power", tools_program},
    {"check", "Hold conditions against the devices: for CI", tools_program},
    {"report", "Run a command, and report it as HTML", tools_program},
    {"stats", "Show how times and sizes of requests are spread", tools_program},
    {"top", "Watch the devices: figures and latency heatmaps", tools_program},
    {"web", "Serve the statistics over HTTP: for Prometheus", tools_program},
    {"iostat", "Report how long devices let requests wait, and how long they serve", "iostat"},
    {"gstat", "Watch the devices in FreeBSD's form", "gstat"},
    {"kstat", "Print kstats", "kstat"},
    {"kstat2", "Print kstat2s", "kstat2"},
}};

bool is_other_command(std::string_view word);

/// The path of a program, for a blkscope in the folder `bin`. If the folder of installed programs of
/// its kind exists, the program is there. A program of that name in `bin` then is another package's.
std::string program_path(const std::string& bin, std::string_view program);

/// Runs another program in place of blkscope. words[0] is the command, and the rest are its arguments.
///
/// Errors: returns only by an exception, std::runtime_error, if the program cannot be run.
[[noreturn]] void become_program(std::vector<std::string> words);

}  // namespace blkscope
