// ExportOptions: the parameters of an export.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "blockdev/backing/backing.hpp"
#include "blockdev/device/behaviour.hpp"
#include "blockdev/device/table_look.hpp"
#include "kstat/provider/instance.hpp"

namespace blkscope {
class VolatileCache;
}

namespace blkscope::nbd {

struct ExportOptions {
    std::string name;
    std::string description;  // for clients; empty: the device's name and backing
    std::unique_ptr<Backing> backing;
    std::optional<TableLook> table = {};              // of the backing, if a look was taken already
    std::shared_ptr<VolatileCache> crash_cache = {};  // of the backing; null for none
    std::optional<kstat::InstanceClaim> instance;     // without one, nothing is published
    uint32_t queue_depth = 128;
    StartOrder order = StartOrder::arrival;
    uint32_t stats_rate = 0;     // counts one in so many reads and writes; 0: none
    uint32_t client_stats = 64;  // clients with statistics of their own, at most
    Behaviour behaviour{};       // the disk that the device imitates
    bool read_only = false;
    bool is_default = false;  // found by the empty name too
};

}  // namespace blkscope::nbd
