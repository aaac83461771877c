// The latency histograms of devices, as their providers publish them:
//
//     kstat:/disk/nbd/nbd0/0/read_wait       and write_wait: strategy to start
//     kstat:/disk/nbd/nbd0/0/read_service    and write_service: start to done
#pragma once

#include <kstat2.h>

#include <memory>
#include <string>
#include <vector>

#include "top/look.hpp"

namespace blkscope::top {

class LatencyReader {
  public:
    /// Learns what there is now. Without providers that publish such, that is nothing.
    void update();

    /// What the device's histograms count, reads and writes together. Without bounds if it
    /// publishes none, or if they are of a shape that cannot be added up.
    [[nodiscard]] Latencies read(const iostat::Device& device);

  private:
    struct Close {
        void operator()(kstat2_handle_t handle) const { kstat2_close(&handle); }
    };

    bool add(const std::string& uri, Latencies& to, std::vector<uint64_t> Latencies::*phase);
    [[nodiscard]] Bounds bounds_of(kstat2_map_t map);

    std::unique_ptr<kstat2_handle, Close> handle_;
    Bounds last_bounds_;  // shared by histograms of the same shape
};

}  // namespace blkscope::top
