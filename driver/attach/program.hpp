// Runs another program and waits for it.
#pragma once

#include <string>
#include <vector>

namespace blkscope {

struct ProgramResult {
    int status;          // its exit status; 127 when there is no such program, 128+N for signal N
    std::string output;  // what it said, standard output and error together, the first 4 KiB
};

/// `arguments[0]` is looked up in PATH. Nothing is read from standard input. Throws
/// std::system_error when no process can be made.
ProgramResult run_program(const std::vector<std::string>& arguments);

}  // namespace blkscope
