// Requests for the tests of traces.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/request.hpp"

namespace blkscope::trace {

/// A request that arrived at `at` and spent 10, 20, 30 and 40 ns in its stages.
inline Request request_at(int64_t at, Op op = Op::read) {
    return {.received = at,
            .queued = at + 10,
            .started = at + 30,
            .finished = at + 60,
            .replied = at + 100,
            .drawn_ns = 25,
            .offset = op == Op::flush ? uint64_t{0} : 8192,
            .bytes = op == Op::flush ? uint64_t{0} : 4096,
            .cookie = (uint64_t{7} << 32) + 3,
            .upstream_cookie = UINT64_MAX - 1,
            .device = 3,
            .client = 2,
            .depth = 5,
            .worker = 1,
            .error = 0,
            .op = op};
}

/// One request of each operation, a microsecond apart.
inline Trace trace_of_all() {
    Trace trace{.properties = {{"device", "nbd3"}, {"model", "read=exp:1ms \"x\""}},
                .lost = 7,
                .realtime_ns = 1'700'000'000'000'000'000,
                .requests = {}};
    for (uint8_t i = 0; i <= static_cast<uint8_t>(last_op); ++i) {
        trace.requests.push_back(request_at(1'000'000 + 1000 * i, static_cast<Op>(i)));
    }
    trace.requests[1].flags = flag::fua | flag::no_hole;
    trace.requests[1].error = 5;
    return trace;
}

}  // namespace blkscope::trace
