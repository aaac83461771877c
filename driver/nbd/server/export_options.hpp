// ExportOptions: what an export is made of.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "blockdev/backing/backing.hpp"
#include "kstat/provider/instance.hpp"

namespace blkscope::nbd {

struct ExportOptions {
    std::string name;
    std::string description;  // for clients; empty: the device's name and its backing
    std::unique_ptr<Backing> backing;
    std::optional<kstat::InstanceClaim> instance;  // without one nothing is published of it
    uint32_t queue_depth = 128;
    uint32_t stats_rate = 0;  // one read or write in so many is in its statistics; 0: none
    bool read_only = false;
    bool is_default = false;  // answers to the empty name too
};

}  // namespace blkscope::nbd
