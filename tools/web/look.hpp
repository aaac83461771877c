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
    std::optional<uint64_t> queue_depth = {};
    top::Settings settings = {};
    bool is_of_host = false;   // a disk of this machine, which Linux counts
    std::string program = {};  // of a client
    std::string peer = {};     // of a client

    /// The disk that a partition or client belongs to; of a disk, its own name.
    [[nodiscard]] std::string disk() const { return device.name.substr(0, device.name.find(',')); }
};

struct Look {
    hrtime_t time = 0;
    std::vector<DeviceLook> devices;
};

}  // namespace blkscope::web
