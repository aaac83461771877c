// One look: the state of the devices at a moment, with all that a screen shows.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/iostat/snapshot.hpp"
#include "tools/top/settings.hpp"

namespace blkscope::top {

/// The smallest value of each bucket of a histogram, ascending, in nanoseconds. All histograms of
/// one shape share an object.
using Bounds = std::shared_ptr<const std::vector<uint64_t>>;

/// The counts of a device's latency histograms since their creation, for reads and writes together.
/// Without bounds the device publishes no histograms.
struct Latencies {
    hrtime_t crtime = 0;  // ns of CLOCK_MONOTONIC
    Bounds bounds;
    std::vector<uint64_t> wait;     // from strategy to start: in the wait queue
    std::vector<uint64_t> service;  // from start to done: in the run queue
    // On the connection, before and after the device. Without counts the stage is not known.
    std::vector<uint64_t> receive = {};
    std::vector<uint64_t> reply = {};
};

/// One device, or one client of a device. Values that are not known are none.
struct DeviceLook {
    iostat::Device device;
    std::optional<uint64_t> size_bytes;
    std::optional<uint64_t> block_bytes;
    std::optional<uint64_t> queue_depth;
    std::optional<uint64_t> clients;  // number of open connections
    std::string who;                  // of a client: its program and its peer; else empty
    Settings settings;                // of a device
    Latencies latencies;
};

struct Look {
    hrtime_t time = 0;  // ns of CLOCK_MONOTONIC
    std::vector<DeviceLook> devices;
};

}  // namespace blkscope::top
