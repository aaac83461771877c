// The programs that blkscope runs as commands: `blkscope iostat -xn 1` is `iostat -xn 1`.
//
//     /usr/bin/blkscope              build/release/bin/blkscope
//     /usr/lib/blkscope/bin/iostat   build/release/bin/iostat
//
// Other packages have programs named iostat and gstat. A distribution therefore installs ours in a
// folder that is not in the user's PATH.
//
// Threads: any.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope {

struct ProgramCommand {
    std::string_view name;
    std::string_view purpose;  // for the help of blkscope
};

inline constexpr std::array<ProgramCommand, 4> program_commands{{
    {"iostat", "Report how long devices let requests wait, and how long they serve"},
    {"gstat", "Watch the devices in FreeBSD's form"},
    {"kstat", "Print kstats"},
    {"kstat2", "Print kstat2s"},
}};

bool is_program(std::string_view word);

/// The path of a program, for a blkscope in the folder `bin`. If `bin`/../lib/blkscope/bin exists,
/// the program is there. A program of that name in `bin` then belongs to another package.
std::string program_path(const std::string& bin, const std::string& name);

/// Runs a program in place of blkscope. words[0] is its name, and the rest are its arguments.
///
/// Errors: returns only by an exception, std::runtime_error, if the program cannot be run.
[[noreturn]] void become_program(std::vector<std::string> words);

}  // namespace blkscope
