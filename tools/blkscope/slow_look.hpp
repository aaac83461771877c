// The slowest requests and those under way: from a server's answer to the lines of a report.
//
// Units:   nanoseconds of CLOCK_MONOTONIC.
// Threads: one; fmt::localtime() is used.
// Errors:  std::runtime_error for a wrong answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/blkscope/strict_json.hpp"
#include "trace/request.hpp"

namespace blkscope {

/// One request of the report.
struct SlowRequest {
    std::string when;  // the time of the reply, or "now" for a request that is under way
    std::string client;
    trace::Request request;
};

/// The requests that a server tells at a moment.
struct SlowLook {
    std::vector<SlowRequest> ended;
    std::vector<SlowRequest> under_way;
    uint64_t under_way_count = 0;  // also those that are not told
    unsigned silent_workers = 0;
    int64_t now_ns = 0;
    int64_t listed_ns = 0;  // when the server looked for those that have ended
};

/// The lines of a report: short ones have 80 characters and times of three digits, long ones have
/// milliseconds with three decimals and the name of the stage.
enum class SlowLines { short_ones, long_ones };

/// The look in a server's answer. Throws std::runtime_error for a wrong one.
[[nodiscard]] SlowLook slow_look_of(const StrictJson& answer);
/// The lines of a look; empty if it has no requests.
[[nodiscard]] std::string text_of(const SlowLook& look, SlowLines lines);

/// The stage that a request is in: receive, wait, service or reply.
[[nodiscard]] const char* stage_of(const trace::Request& request);

/// A line for each request. The times of a request that is under way are up to `now_ns`, and its
/// present stage is marked.
[[nodiscard]] std::string slow_lines(const std::vector<SlowRequest>& requests, int64_t now_ns,
                                     SlowLines lines);
[[nodiscard]] std::string slow_header(SlowLines lines);

}  // namespace blkscope
