// TraceCollection: the trace of a device from the recorders of its server.
//
//     made ─▶ take_recorded() ──────────────────▶ result()     what just was
//          └─▶ take(), again and again ─▶ finish() ─▶ result()     from the making on
//
// Threads: one.
// Errors:  std::runtime_error, std::system_error or std::invalid_argument, as ServerConnection.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "tools/blkscope/control_client.hpp"
#include "tools/blkscope/control_request.hpp"
#include "trace/request.hpp"

namespace blkscope {

class TraceCollection {
  public:
    explicit TraceCollection(const std::string& device);

    /// Takes what was recorded before this object was made. Records that were overwritten earlier
    /// were never to be had, and do not count as lost.
    void take_recorded();

    /// Takes some of what was recorded since. Returns the number of records that it has passed.
    uint64_t take();
    /// Takes the rest of what is recorded until now.
    void finish();

    /// The trace in the order of arrival. The object is empty then.
    [[nodiscard]] trace::Trace result();

  private:
    uint64_t ask();
    void take_heads();
    void take_to_heads();

    ServerConnection server_;
    ControlRequest request_;
    std::vector<uint64_t> heads_;
    trace::Trace trace_;
};

/// Takes from each collection until `end`, in ns of CLOCK_MONOTONIC, or until a signal that ends the
/// command. Then finishes each, the first one first.
void collect_until(std::span<TraceCollection* const> collections, hrtime_t end);

}  // namespace blkscope
