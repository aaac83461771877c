// blkscope: see command_line.hpp for its commands.

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "tools/blkscope/command_line.hpp"
#include "tools/blkscope/failure.hpp"

int main(int argc, char** argv) {
    try {
        return blkscope::run(argc, argv);
    } catch (const std::exception& failure) {
        fmt::print(stderr, "blkscope: {}\n", blkscope::failure_text(failure));
    }
    return 1;
}
