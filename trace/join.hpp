// Join: the requests of a server in front of another, and what each of them was at the other.
//
//     first     queued ─ wait ─▶ started ──────────── service ──────────────▶ finished
//                                   └─ cookie ─▶ queued ─ wait ─ service ─▶ finished     second
//
// The first server's record has the cookie of its request to the second. The second server's record
// has the cookie of its client. A cookie is unique for a connection only. So operation, place and
// length must be equal, too. The second must have received the request within the first's service.
// Where several requests fit each other, none is taken.
//
// Units:     nanoseconds; bytes.
// Ownership: borrows the traces for the call. Indices are those of their requests.
// Threads:   any; pure functions.
// Errors:    none. A foreign trace may have any requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/request.hpp"

namespace blkscope::trace {

/// The clocks of two servers differ, because each server measures the scale of its own. Nearby
/// stamps of two traces are compared with this tolerance.
inline constexpr int64_t join_tolerance_ns = 10'000'000;

struct JoinedPair {
    size_t first;
    size_t second;
    bool operator==(const JoinedPair&) const = default;
};

/// Each request of the first trace is a pair or is counted in one of the others.
struct Join {
    std::vector<JoinedPair> pairs;  // in the order of the first trace
    size_t without_cookie = 0;      // not one message to the second server: several, or none
    size_t missing = 0;             // the second trace does not have the request
    size_t ambiguous = 0;           // several requests fit each other
    size_t outside = 0;  // not in the second trace's time, or without a known start and end
};

[[nodiscard]] Join join(const Trace& first, const Trace& second);

/// The time of many reads and writes in two of their stages.
struct StageSums {
    double wait_ns = 0;
    double service_ns = 0;
    double bytes = 0;
    size_t count = 0;

    void add(const Request& request);
};

struct CommonSums {
    StageSums first;
    StageSums second;
};

/// All reads and writes that began and ended in the time that both traces have.
[[nodiscard]] CommonSums common_sums(const Trace& first, const Trace& second);

}  // namespace blkscope::trace
