// DeviceLife: a life of a device alone, without clients: several rings, a lane each, and every time
// that a request has, which a client cannot see.
//
// At the end all requests are done, and to the tick
//
//     Σ (started - queued)  of reads and writes = wlentime
//     Σ (finished - started) of reads and writes = rlentime
//
// No request was started before one that had come earlier, and no more than `depth` ran at once.
#pragma once

#include "life.hpp"

namespace blkscope::simulation {

Outcome live_device(uint64_t seed, const Cuts& cuts);

}  // namespace blkscope::simulation
