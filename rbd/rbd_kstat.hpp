// RbdKstat: the figures of a backing in a Ceph cluster.
//
// Published (instance N):
//     nbd:N:nbdN,upstream  NAMED, class misc: state, a text; orphans and timeouts, uint64
//
// The state is `waiting` while librbd has orphans: operations that the cluster has not answered in
// time. `blocklisted` stays until the export is served again. Else it is `connected`.
//
// Ownership: owns its kstat.
// Threads:   the backing's worker writes; the kstat's readers may be on any thread.
// Errors:    kstat_create() logs, and the figures are then not published.
#pragma once

#include <sys/kstat.h>

#include <atomic>
#include <cstdint>

#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/accounting/subject.hpp"

namespace blkscope::rbd {

class RbdKstat {
  public:
    void publish(const Subject& subject);

    void orphans_are(uint64_t count) { orphans_.store(count, std::memory_order_relaxed); }
    void timed_out() { timeouts_.fetch_add(1, std::memory_order_relaxed); }
    void blocklisted_is() { blocklisted_.store(true, std::memory_order_relaxed); }

    [[nodiscard]] uint64_t orphans() const { return orphans_.load(std::memory_order_relaxed); }
    [[nodiscard]] uint64_t timeouts() const { return timeouts_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool blocklisted() const { return blocklisted_.load(std::memory_order_relaxed); }

  private:
    static int update(kstat_t* ksp, int rw);

    std::atomic<uint64_t> orphans_{0};
    std::atomic<uint64_t> timeouts_{0};
    std::atomic<bool> blocklisted_{false};
    OwnedKstat kstat_;
};

}  // namespace blkscope::rbd
