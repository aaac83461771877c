// Recordings: the requests of one export, recorded and under way, whatever the workers of its clients.
//
// Ownership: borrows the workers.
// Threads:   the control thread.
// Errors:    none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/nbd/server/workers.hpp"

namespace blkscope::nbd {

class Recordings {
  public:
    /// `instance` is that of the export's device; negative if the device publishes nothing.
    Recordings(Workers& workers, uint64_t export_serial, int instance)
        : workers_(workers), export_serial_(export_serial), instance_(instance) {}

    /// The next record of each worker.
    [[nodiscard]] std::vector<uint64_t> heads() const { return workers_.recorder_heads(); }
    /// The requests from those records on: see Workers::recorded().
    [[nodiscard]] Recorded recorded(const std::vector<uint64_t>& from, size_t records_max) const {
        if (instance_ < 0) return {};
        return workers_.recorded(static_cast<uint32_t>(instance_), from, records_max);
    }
    /// The requests that are under way. Waits for the workers' answers for `limit`.
    [[nodiscard]] UnderWay under_way(std::chrono::milliseconds limit) {
        return workers_.under_way(export_serial_, std::chrono::steady_clock::now() + limit);
    }

  private:
    Workers& workers_;
    const uint64_t export_serial_;
    const int instance_;
};

}  // namespace blkscope::nbd
