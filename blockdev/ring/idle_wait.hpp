// IdleWait: how a worker that has nothing to do waits for a completion.
//
//     submit ─▶ something is there? ─▶ return
//                  │ no
//                  ├─ spinning pays ─▶ spin for up to 100 us ─▶ found? ─▶ return
//                  └───────────────────────────────────────────────▶ sleep in the kernel
//
// What is submitted often completes at once. That was no idle wait, and says nothing of the next.
//
// Threads: the ring's worker.
// Errors:  as Uring::submit().
#pragma once

#include <sys/kstat.h>

#include <cstdint>

#include "blockdev/ring/busy_wait.hpp"
#include "blockdev/ring/uring.hpp"

namespace blkscope {

class IdleWait {
  public:
    /// Without `may_spin` it always sleeps.
    explicit IdleWait(bool may_spin) : may_spin_(may_spin) {}

    /// A client stands still until what it has begun to send is taken: the next idle wait spins for
    /// it, however much there was to do before.
    void expect_soon() { expects_soon_ = true; }

    /// Submits, and returns when something has completed. `turn` counts the worker's turns.
    int wait(Uring& uring, uint64_t turn);

  private:
    bool spin(Uring& uring, hrtime_t since);

    const bool may_spin_;
    bool expects_soon_ = false;  // since it was last idle
    uint64_t idle_turn_ = 0;     // the last one with nothing left to do
    BusyWait busy_wait_;
};

}  // namespace blkscope
