// What all devices counted at one moment, and the pairs of two such moments.
#pragma once

#include <sys/kstat.h>

#include <ctime>
#include <string>
#include <vector>

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
    timespec when{};      // of the day
    hrtime_t uptime = 0;  // ns of CLOCK_MONOTONIC
    std::vector<Device> devices;
};

/// Seconds from one to the other.
[[nodiscard]] double seconds_between(const Snapshot& before, const Snapshot& now);

/// The same device earlier; null where it was not there yet.
[[nodiscard]] const Device* find(const Snapshot& before, const Device& device);

/// The devices in the order of their list, each with its partitions behind it.
void put_partitions_in_place(std::vector<Device>& devices);

}  // namespace blkscope::gstat
