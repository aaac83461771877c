// The counters of all devices at one moment, and the comparison of two such moments.
#pragma once

#include <sys/kstat.h>

#include <ctime>
#include <string>
#include <vector>

#include "devstat/libdevstat/reader.hpp"
#include "tools/freebsd/figures.hpp"

namespace blkscope::gstat {

using freebsd::Devstat;

struct Device {
    int identity = 0;  // the same in every snapshot
    std::string name;
    bool is_partition = false;
    Devstat entry{};  // busy time is charged up to the snapshot
};

struct Snapshot {
    timespec when{};      // time of day
    hrtime_t uptime = 0;  // ns of CLOCK_MONOTONIC
    std::vector<Device> devices;
};

/// Takes snapshots of all devices of the machine.
///
/// Threads: one. Errors: std::system_error.
class SnapshotReader {
  public:
    [[nodiscard]] Snapshot take();

  private:
    devstat::Reader reader_;
};

/// The seconds from `before` to `now`.
[[nodiscard]] double seconds_between(const Snapshot& before, const Snapshot& now);

/// The same device in `before`; null if the device was not there yet.
[[nodiscard]] const Device* find(const Snapshot& before, const Device& device);

/// The seconds whose activity the figures of a device of `now` cover. A device that is not in
/// `before` counts since its creation, which may be long before the interval.
[[nodiscard]] double seconds_covered(const Snapshot& before, const Snapshot& now,
                                     const Device& device);

/// Puts each device's partitions behind the device, and keeps the order of the devices.
void put_partitions_in_place(std::vector<Device>& devices);

}  // namespace blkscope::gstat
