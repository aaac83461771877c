// One look at all that the server shows: devices, their partitions and their clients.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/iostat/snapshot.hpp"
#include "tools/top/settings.hpp"

namespace blkscope::web {

struct DeviceLook {
    iostat::Device device;  // with histograms, if there are any
    std::map<std::string, uint64_t, std::less<>> commands = {};  // read_requests, ...; may be empty
    std::map<std::string, uint64_t, std::less<>> errnos = {};    // read_EIO, ..., other
    std::optional<uint64_t> queue_depth = {};
    top::Settings settings = {};
    bool is_of_host = false;   // a disk of this machine, which Linux counts
    std::string program = {};  // of a client
    std::string peer = {};     // of a client

    /// The disk that a partition or client belongs to; of a disk, its own name.
    [[nodiscard]] std::string disk() const { return device.name.substr(0, device.name.find(',')); }
};

/// Whether a program of this project serves the device, or a part of it.
[[nodiscard]] inline bool is_served(const DeviceLook& one) {
    return !one.is_of_host;
}

/// The devices that `shows` accepts.
template <class Shows>
[[nodiscard]] iostat::Snapshot devices_of(const std::vector<DeviceLook>& looks, Shows shows) {
    iostat::Snapshot devices;
    for (const DeviceLook& one : looks) {
        if (shows(one)) devices.push_back(one.device);
    }
    return devices;
}

/// A record of the kstat NAME,errno: read_EIO, or `other` for both.
struct ErrnoRecord {
    std::string operation;
    std::string error;
};

[[nodiscard]] inline ErrnoRecord errno_record(const std::string& name) {
    const size_t bar = name.rfind('_');  // an operation may have a bar, too
    if (bar == std::string::npos) return {.operation = name, .error = name};
    return {.operation = name.substr(0, bar), .error = name.substr(bar + 1)};
}

/// A process that has a socket in a run directory. The process is up if a kstat of the process
/// could be read.
struct ProviderLook {
    int pid = 0;
    bool is_up = false;
};

struct Look {
    hrtime_t time = 0;
    std::vector<DeviceLook> devices;
    std::vector<ProviderLook> providers = {};  // by their pids
};

}  // namespace blkscope::web
