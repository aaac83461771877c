// UpstreamLife: a life of a device whose bytes are another server's, through an UpstreamBacking.
//
//     sessions ─▶ Device ─▶ UpstreamBacking ─▶ SimulatedKernel's sockets ─▶ OtherServer
//
// The other server loses connections and its memory, stops, talks nonsense and runs old writes late.
// Sometimes the export comes back with another size. Sessions come and go. See README.md for the checks.
#pragma once

#include "life.hpp"

namespace blkscope::simulation {

Outcome live_upstream(uint64_t seed, const Cuts& cuts);

}  // namespace blkscope::simulation
