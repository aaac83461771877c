// blkscope: see command_line.hpp for its commands.

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "base/descriptor_limit.hpp"
#include "tools/blkscope/command_line.hpp"
#include "tools/blkscope/failure.hpp"

// A server needs a descriptor for each client, and a reader of statistics one for each provider.
int main(int argc, char** argv) {
    blkscope::raise_descriptor_limit();
    try {
        return blkscope::run(argc, argv);
    } catch (const std::exception& failure) {
        fmt::print(stderr, "blkscope: {}\n", blkscope::failure_text(failure));
    }
    return 1;
}
