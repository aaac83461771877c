// The part of a boot for exports whose bytes are another server's: what their clients may expect of them.
//
// Source: the terms of the other server, other_terms.hpp.
#pragma once

#include "client.hpp"
#include "other_terms.hpp"

namespace blkscope::simulation {

/// The client's requests fit the terms' blocks, and their errors are known. `faulty`: live changes may fail or hold
/// requests, too.
void meet_terms(const OtherTerms& terms, bool faulty, ClientPlan& plan);
/// The client is told what the terms make possible, and nothing else.
void meet_terms(const OtherTerms& terms, Invitation& invitation);

}  // namespace blkscope::simulation
