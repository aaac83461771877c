// DeviceLife: a life of one device without clients. The device has several rings, with a lane each.
// The life checks times of a request that no client can see.
//
// At the end all requests are done, and to the tick
//
//     Σ (started - queued)  of reads and writes = wlentime
//     Σ (finished - started) of reads and writes = rlentime
//
// No request starts before an earlier one, and never more than `depth` run at once.
#pragma once

#include "life.hpp"

namespace blkscope::simulation {

Outcome live_device(uint64_t seed, const Cuts& cuts);

}  // namespace blkscope::simulation
