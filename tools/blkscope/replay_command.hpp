// blkscope replay: sends a saved trace to an NBD server, and compares the times.
//
//     file ─▶ trace ─▶ checks ─▶ connection ─▶ checks ─▶ ReplayRun ─▶ report
//
// Nothing is sent before all checks have passed.
//
// Threads: one; the command handles the signals that end it.
// Errors:  std::invalid_argument for bad input, of which the exit status is 2. std::runtime_error
//          or std::system_error otherwise.
#pragma once

#include <cstdint>
#include <string>

namespace blkscope {

struct ReplayCommand {
    std::string trace;
    std::string of_device;  // of this device in the file; empty: it has one
    std::string uri;
    double speed = 1;
    uint32_t in_flight = 0;  // 0: at the trace's own times
    bool write = false;
    uint64_t seed = 0;
    uint32_t timeout_s = 30;
};

void replay(const ReplayCommand& command);

}  // namespace blkscope
