// Visits: a worker's lanes to the devices of other workers' exports.
//
// For the first client of such an export the worker opens a lane to the device; after the last one
// it closes the lane.
//
// Ownership: owns the lanes; borrows the exports, which outlive their visitors.
// Threads:   one worker.
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
    Visits(const Visits&) = delete;
    Visits& operator=(const Visits&) = delete;

    /// The lane for one client more.
    Lane& open_lane(Export& exp);
    /// A client that had the lane is no more.
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
