// Visits: a worker's lanes to the devices of other workers' exports.
//
// The first client of such an export opens a lane to the device; the last one closes the lane.
//
// Ownership: owns the lanes; borrows the exports, which outlive their visitors.
// Threads:   the worker's.
// Errors:    open_lane() throws what Device::open_lane() throws.
#pragma once

#include <memory>
#include <vector>

#include "blockdev/ring/ring.hpp"
#include "driver/nbd/server/export.hpp"

namespace blkscope::nbd {

class Visits {
  public:
    explicit Visits(Ring& ring) : ring_(ring) {}
    ~Visits();
    Visits& operator=(Visits&&) = delete;

    /// The lane to the device, for one more client.
    Lane& open_lane(Export& exp);
    /// A client of the lane has closed.
    void close_lane(Export& exp);

  private:
    struct Visit {
        Export* exp;
        std::unique_ptr<Lane> lane;
        unsigned clients;
    };

    std::vector<Visit>::iterator find(const Export& exp);

    Ring& ring_;
    std::vector<Visit> visits_;
};

}  // namespace blkscope::nbd
