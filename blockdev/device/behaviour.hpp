// Behaviour: the model, limits and faults of a device. DeviceOptions: the options of a new device.
//
// Units:     requests; see the model's headers.
// Ownership: values.
// Threads:   any.
// Errors:    none; the parsers of the parts have refused bad ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "blockdev/device/table_look.hpp"
#include "blockdev/model/fault_rule.hpp"
#include "blockdev/model/limit_spec.hpp"
#include "blockdev/model/model_spec.hpp"
#include "blockdev/queue/waiting_line.hpp"
#include "trace/model_state.hpp"

namespace blkscope {

/// The disk that a device imitates. Without any of these, a device is as fast as its backing.
struct Behaviour {
    std::optional<blkscope::model::ModelSpec> model;
    std::optional<blkscope::model::LimitSpec> limits;
    std::optional<blkscope::model::LimitSpec> client_limits;  // of each client
    std::vector<blkscope::model::FaultRule> faults;
    uint64_t seed = 0;      // of the model's draws and of faults, unless the model's spec has one
    bool busy_wait = true;  // for the last tens of microseconds before a model's end
    std::optional<trace::ModelState> state;  // where model and limits begin; else at their begin
};

struct DeviceOptions {
    uint32_t queue_depth = 128;
    StartOrder order = StartOrder::arrival;
    uint32_t stats_rate = 0;     // IoStats sample one read or write in so many; 0: there are none
    uint32_t client_stats = 64;  // clients with statistics of their own, at most
    Behaviour behaviour{};
    std::optional<TableLook> table{};  // of the backing, if a look was taken already
};

}  // namespace blkscope
