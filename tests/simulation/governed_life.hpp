// GovernedLife: a device alone whose models, limits, depth, order and fault rules change while it serves.
//
//     phase:  arrivals and changes at random moments ─▶ quiet ─▶ rules are lifted, or clients end ─▶ the next phase
//
// When a phase is quiet, only requests that hang run, as many as the rules have struck, and others wait only if these
// have all places. At the end the chronicle of the life is held against what was in force: see Obedience.
#pragma once

#include <cstdint>

#include "life.hpp"

namespace blkscope::simulation {

Outcome live_governed(uint64_t seed, const Cuts& cuts);

}  // namespace blkscope::simulation
