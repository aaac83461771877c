// iostat --style=freebsd, from the command line to the exit status.
#ifndef IOSTAT_FREEBSD_RUN_HPP
#define IOSTAT_FREEBSD_RUN_HPP

#include <string>
#include <vector>

namespace blkscope::iostat::freebsd {

/// `arguments` without --style.
int main_program(std::vector<std::string> arguments);

}  // namespace blkscope::iostat::freebsd

#endif
