// Runs another program and waits for it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace blkscope {

struct ProgramResult {
    int status;          // the exit status; 127: no such program, 128+N: signal N
    std::string output;  // standard output and error together, the first 4 KiB
};

/// Finds `arguments[0]` in PATH. Standard input is empty. Throws std::system_error if no process
/// can be made.
ProgramResult run_program(const std::vector<std::string>& arguments);

/// The same. Nothing if the program has not ended within `limit`; it then goes on by itself.
std::optional<ProgramResult> run_program(const std::vector<std::string>& arguments,
                                         std::chrono::milliseconds limit);

/// The last line that is not empty, which has the reason of a failure.
std::string last_line(const std::string& output);

}  // namespace blkscope
