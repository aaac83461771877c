// iostat --style=freebsd: from the command line to the exit status.
#pragma once

#include <string>
#include <vector>

namespace blkscope::iostat::freebsd {

/// Runs the program; `arguments` must not contain --style.
int main_program(std::vector<std::string> arguments);

}  // namespace blkscope::iostat::freebsd
