// iostat: chooses the style of the report.

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "tools/iostat/freebsd/options.hpp"
#include "tools/iostat/freebsd/run.hpp"
#include "tools/iostat/run.hpp"
#include "tools/program/signals.hpp"
#include "tools/program/stamp.hpp"

int main(int argc, char** argv) {
    blkscope::program::use_language_for_dates();
    blkscope::program::watch_signals({SIGINT, SIGTERM});
    std::vector<std::string> arguments{argv, argv + argc};
    if (blkscope::iostat::freebsd::take_style(arguments)) {
        return blkscope::iostat::freebsd::main_program(std::move(arguments));
    }
    return blkscope::iostat::main_program(std::move(arguments));
}
