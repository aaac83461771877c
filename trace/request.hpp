// Request: a request to a block device as it was recorded. Trace: the requests of one device.
//
//     received ─ receive ─▶ queued ─ wait ─▶ started ─ service ─▶ finished ─ reply ─▶ replied
//
// A stamp of 0 is unknown: a request without a connection was never received. A request that is
// under way has not yet reached its later stamps. A reply that was never sent has no stamp. The file
// of another program may lack any stamp but one. No figure takes an unknown stamp for a moment: a
// request without the stamps that a figure needs is left out of it, and counted.
//
// Units:     nanoseconds of CLOCK_MONOTONIC; bytes.
// Ownership: values.
// Threads:   any.
// Errors:    none.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope::trace {

/// In the order of Buf::Op.
enum class Op : uint8_t { read, write, flush, trim, write_zeroes, cache, block_status };
inline constexpr Op last_op = Op::block_status;

inline constexpr std::array op_names{"read",         "write", "flush",       "trim",
                                     "write_zeroes", "cache", "block_status"};
static_assert(op_names.size() == static_cast<size_t>(last_op) + 1);

/// Empty for a number that is no operation.
[[nodiscard]] constexpr const char* name_of(Op op) {
    const auto place = static_cast<size_t>(op);
    return place < op_names.size() ? op_names[place] : "";
}

/// The operation of that name; nothing if there is none.
[[nodiscard]] constexpr std::optional<Op> op_named(std::string_view name) {
    const auto* const found = std::ranges::find(op_names, name);
    if (found == op_names.end()) return {};
    return static_cast<Op>(found - op_names.begin());
}

/// The bits of Request::flags.
namespace flag {
inline constexpr uint8_t fua = 1;
inline constexpr uint8_t no_hole = 2;
inline constexpr uint8_t fast_zero = 4;
inline constexpr uint8_t all = fua | no_hole | fast_zero;
}  // namespace flag

/// The client of requests whose clients share statistics.
inline constexpr uint32_t shared_client = UINT32_MAX;

struct Request {
    int64_t received = 0;
    int64_t queued = 0;
    int64_t started = 0;
    int64_t finished = 0;
    int64_t replied = 0;
    uint64_t drawn_ns = 0;  // the service that a model or a fault drew
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint64_t cookie = 0;  // the client's own number of the request
    // The number that the request had at another server; 0 for none, and for several requests there
    uint64_t upstream_cookie = 0;
    uint32_t device = 0;  // N of nbdN
    uint32_t client = 0;  // K of client-K; 0 for none
    uint32_t depth = 0;   // reads and writes in the device when the request arrived
    uint16_t worker = 0;
    uint16_t error = 0;  // an errno
    Op op = Op::read;
    uint8_t flags = 0;

    /// The request moves data, as those that a device's queues count.
    [[nodiscard]] bool transfers() const { return op == Op::read || op == Op::write; }
    /// The first known moment of the request.
    [[nodiscard]] int64_t arrival() const {
        if (received > 0) return received;
        return queued > 0 ? queued : started;
    }
    /// The last known moment of the request.
    [[nodiscard]] int64_t end() const {
        if (replied > 0) return replied;
        if (finished > 0) return finished;
        if (started > 0) return started;
        return queued > 0 ? queued : received;
    }
    /// When the device had the request: its arrival, if no later moment is known. 0: unknown.
    [[nodiscard]] int64_t entered() const { return queued > 0 ? queued : received; }
    /// It is known how long the request took.
    [[nodiscard]] bool has_total() const { return entered() > 0 && (finished > 0 || replied > 0); }
    /// It is known how long the request was served.
    [[nodiscard]] bool has_service() const { return started > 0 && finished > 0; }
    /// It is known how long the request waited and how long it was served.
    [[nodiscard]] bool has_stages() const { return entered() > 0 && has_service(); }
    bool operator==(const Request&) const = default;
};

/// The client as its statistics name it, and "-" for none.
[[nodiscard]] inline std::string client_text(const Request& request) {
    if (request.client == 0) return "-";
    if (request.client == shared_client) return "client-other";
    return "client-" + std::to_string(request.client);
}

struct Trace {
    /// Facts about the device: its name, size, depth, model and others, by key.
    std::map<std::string, std::string> properties;
    /// Requests that were recorded but overwritten before they were read.
    uint64_t lost = 0;
    /// CLOCK_REALTIME less CLOCK_MONOTONIC.
    int64_t realtime_ns = 0;
    /// In the order of arrival().
    std::vector<Request> requests;
    /// What the file that was read does not say, in a line each, for the user.
    std::vector<std::string> notes = {};
};

}  // namespace blkscope::trace
