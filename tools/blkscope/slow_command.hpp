// blkscope slow: the slowest requests of the last minute, and those that are under way for too long.
//
// Threads: one; the command handles the signals that end it.
// Errors:  std::invalid_argument for bad input, of which the exit status is 2. std::runtime_error
//          or std::system_error otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/request.hpp"

namespace blkscope {

struct SlowCommand {
    std::string device;
    std::string over = "10ms";
    bool watch = false;
};

/// One request of the report.
struct SlowRequest {
    std::string when;  // the time of the reply, or "now" for a request that is under way
    std::string client;
    trace::Request request;
};

/// The stage that a request is in: receive, wait, service or reply.
[[nodiscard]] const char* stage_of(const trace::Request& request);

/// A line for each request. The times of a request that is under way are up to `now_ns`, and its
/// present stage is marked.
[[nodiscard]] std::string slow_lines(const std::vector<SlowRequest>& requests, int64_t now_ns);
[[nodiscard]] std::string slow_header();

void slow(const SlowCommand& command);

}  // namespace blkscope
