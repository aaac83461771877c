// A run of iostat in Solaris' style, from the first report to the last.
#pragma once

#include <string>
#include <vector>

namespace blkscope::iostat {

/// Obeys the command line, whose first word is the program's name. Returns the exit status.
int main_program(std::vector<std::string> arguments);

}  // namespace blkscope::iostat
