// blkscope slow: the slowest requests of the last minute, and those that are under way for too long.
//
// Threads: one; the command handles the signals that end it.
// Errors:  std::invalid_argument for bad input, of which the exit status is 2. std::runtime_error
//          or std::system_error otherwise.
#pragma once

#include <string>

namespace blkscope {

struct SlowCommand {
    std::string device;
    std::string over = "10ms";
    bool watch = false;
    bool wide = false;
};

void slow(const SlowCommand& command);

}  // namespace blkscope
