// The report of a replay: the rates, the lateness, and the times of the trace beside its own.
//
//     61 requests in 1.002 s: asked 60.9/s, reached 60.8/s
//     late: p99 12us, worst 40us
//
//     op            of        requests   errors      p50      p90      p99      max
//     read          trace           30        0    4.1us    5.0us    9.1us    9.9us
//                   replay          30        0     22us     28us     61us     64us
//
// The times of the trace are from the arrival of a request to its reply, or to its end at the device.
// Requests of the trace whose end is unknown count, and have no time. A line says how many there are.
// The times of the replay are from the sending to the answer.
//
// Threads: any; a pure function.
// Errors:  none.
#pragma once

#include <string>
#include <vector>

#include "tools/blkscope/replay_run.hpp"
#include "trace/request.hpp"

namespace blkscope {

/// `outcome` is in the order of the requests.
[[nodiscard]] std::string replay_report(const std::vector<trace::Request>& requests,
                                        const std::vector<Replayed>& outcome,
                                        const ReplayPace& pace);

}  // namespace blkscope
