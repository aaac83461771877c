// IdleWait: how a worker that has nothing to do waits for a completion.
//
//     submit ─▶ a completion is there? ─▶ return
//                  │ no
//                  ├─ spinning pays ─▶ spin for up to 100 us ─▶ found? ─▶ return
//                  └───────────────────────────────────────────────▶ sleep in the kernel
//
// A submitted operation often completes at once. Such a wait was not idle, so it does not count.
//
// Threads: the ring's worker.
// Errors:  as Uring::submit().
#pragma once

#include <sys/kstat.h>

#include <cstdint>

#include "blockdev/ring/alarm.hpp"
#include "blockdev/ring/busy_wait.hpp"
#include "blockdev/ring/uring.hpp"

namespace blkscope {

class IdleWait {
  public:
    /// Without `may_spin` the worker always sleeps.
    explicit IdleWait(bool may_spin) : may_spin_(may_spin) {}
    [[nodiscard]] bool may_spin() const { return may_spin_; }

    /// A client is blocked until the worker takes the rest of its request. The next idle wait spins
    /// for that rest, even if the worker was busy before.
    void expect_soon() { expects_soon_ = true; }

    /// Submits, and returns when an operation has completed, or at `until` (ticks). A sleep ends after
    /// `ns_max`, too: the counter may step before it. `turn` counts the worker's turns.
    int wait(Uring& uring, uint64_t turn, hrtime_t until = Alarm::never,
             hrtime_t ns_max = Kernel::forever);

    /// Spins until an operation has completed, until `moment`, or until the clock goes back. For the
    /// end of a wait.
    static void spin_until(Uring& uring, hrtime_t moment);

  private:
    static int sleep(Uring& uring, hrtime_t until, hrtime_t ns_max);
    bool spin(Uring& uring, hrtime_t since, hrtime_t until);

    const bool may_spin_;
    bool expects_soon_ = false;  // since the worker was last idle
    uint64_t idle_turn_ = 0;     // the last turn after which nothing was left to do
    BusyWait busy_wait_;
};

}  // namespace blkscope
