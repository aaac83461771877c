// One look at the devices: all that a screen can tell of a moment.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tools/iostat/snapshot.hpp"

namespace blkscope::top {

/// The smallest value of each bucket of a histogram, ascending, in nanoseconds. Shared by all
/// histograms of one shape.
using Bounds = std::shared_ptr<const std::vector<uint64_t>>;

/// What a device's latency histograms count since their creation, reads and writes together.
/// Without bounds it publishes none.
struct Latencies {
    hrtime_t crtime = 0;  // ns of CLOCK_MONOTONIC
    Bounds bounds;
    std::vector<uint64_t> wait;     // from strategy to start: in the wait queue
    std::vector<uint64_t> service;  // from start to done: in the run queue
};

/// One device. What is not known of it is left out.
struct DeviceLook {
    iostat::Device device;
    std::optional<uint64_t> size_bytes;
    std::optional<uint64_t> block_bytes;
    std::optional<uint64_t> queue_depth;
    std::optional<uint64_t> clients;  // connections that are open
    Latencies latencies;
};

struct Look {
    hrtime_t time = 0;  // ns of CLOCK_MONOTONIC
    std::vector<DeviceLook> devices;
};

}  // namespace blkscope::top
