// Life: all that follows from one seed, from the first boot to the last orderly end.
//
//     seed ─▶ plan ─▶ boot ── clients ── reloads ──▶ crash ─▶ boot ── ... ─▶ orderly end
//                      │                               │
//                      └── the oracle watches all ◀────┘ and checks what survived
//
// A life has one process and one thread. The workers, the clients and the kernel run by events of
// one timeline. The same seed and the same cuts give the same events, and the same hash.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace blkscope::simulation {

/// Parts left out of a life, to find those that a failure needs.
struct Cuts {
    std::set<unsigned> clients;     // the clients to omit
    unsigned requests_max = 10000;  // limit for each client
    bool no_faults = false;
    bool no_crash = false;
    bool no_reload = false;
    bool no_changes = false;  // of models, limits and faults
    bool no_clocks = false;   // all clocks are true
    unsigned workers_max = 3;
    unsigned troubles_max = 100;  // of another server
    /// Not a cut: a flush under way when a sync fails must keep its promise, too.
    bool strict = false;
};

struct Outcome {
    std::string verdict;  // empty: no error
    uint64_t hash = 0;
    uint64_t events = 0;
    uint64_t answers = 0;
    unsigned clients = 0;  // clients that connected
    std::string plan;      // as text
    bool tls = false;
};

Outcome live(uint64_t seed, const Cuts& cuts = {});

}  // namespace blkscope::simulation
