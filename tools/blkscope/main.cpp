// blkscope: see command_line.hpp for what it does with its arguments.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

#include "blkscope/command_line.hpp"

int main(int argc, char** argv) {
    try {
        return blkscope::run(argc, argv);
    } catch (const std::bad_alloc&) {
        fmt::print(stderr, "blkscope: out of memory\n");
    } catch (const std::exception& error) {
        fmt::print(stderr, "blkscope: {}\n", error.what());
    }
    return 1;
}
