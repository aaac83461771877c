// Life: everything that one seed says, from the first boot to the last orderly end.
//
//     seed ─▶ plan ─▶ boot ── clients ── reloads ──▶ crash ─▶ boot ── ... ─▶ orderly end
//                      │                               │
//                      └── oracle watches all of it ◀──┘ what survived is what it says
//
// One process and one thread: the workers' turns, the clients and the kernel take turns by events of
// one timeline. The same seed and the same cuts give the same events, and the same hash.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace blkscope::simulation {

/// Parts left out of a life, to find out which of them a failure needs.
struct Cuts {
    std::set<unsigned> clients;     // these do not come
    unsigned requests_max = 10000;  // of each client
    bool no_faults = false;
    bool no_crash = false;
    bool no_reload = false;
    unsigned workers_max = 3;
    /// Not a cut: a flush that was under way when a sync failed is held to its word, too.
    bool strict = false;
};

struct Outcome {
    std::string verdict;  // empty: nothing was wrong
    uint64_t hash = 0;
    uint64_t events = 0;
    uint64_t answers = 0;
    unsigned clients = 0;  // that came
    std::string plan;      // in words
};

Outcome live(uint64_t seed, const Cuts& cuts = {});

}  // namespace blkscope::simulation
