// blkscope explain --upstream: the time of requests at a server, and at the server behind it.
//
//     first, in front      wait │ service ────────────────────│
//     second, behind                   │ wait │ service │           the rest: the way between both
//
// Units:   nanoseconds.
// Threads: one; live recorders are taken until a signal that ends the command.
// Errors:  std::invalid_argument for bad input, of which the exit status is 2. std::runtime_error
//          or std::system_error otherwise.
#pragma once

#include <string>

#include "trace/request.hpp"

namespace blkscope {

/// Two devices whose servers run on this machine, or two files.
struct ChainCommand {
    std::string first;
    std::string second;
    double interval_s = 1;  // of devices
};

/// A trace and its name for the reader.
struct NamedTrace {
    std::string name;
    const trace::Trace& trace;
};

/// The screen: how many requests were joined, the slowest of them, and where the time went.
[[nodiscard]] std::string chain_text(const NamedTrace& first, const NamedTrace& second);

void explain_chain(const ChainCommand& command);

}  // namespace blkscope
