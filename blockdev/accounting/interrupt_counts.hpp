// InterruptCounts: the causes of a worker's wake-ups for a device.
//
// Published: nbd:N:nbdN,intr, INTR of class controller.
//     hard      turns of a worker in which an operation of the device completed
//     multsvc   further completions in such a turn
//     soft      clients that a worker received from the server
//     watchdog  clients closed because they made no progress
//     spurious  wake-ups with nothing to do, of all rings that have a lane into the device
//
// Units:     turns, completions, clients, wake-ups.
// Ownership: owns the counters and the kstat; borrows each ring from ring_added() to
//            ring_removed().
// Threads:   a worker, with the device locked. A separate mutex protects the list of rings, so that
//            no reader waits for a worker.
// Errors:    the constructor throws std::runtime_error.
#pragma once

#include <cassert>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/seqlock.hpp"
#include "blockdev/accounting/owned_kstat.hpp"

namespace blkscope {

class Ring;

class InterruptCounts {
  public:
    InterruptCounts(const Seqlock& seq, const Subject& subject);

    /// An operation has completed in `turn`. `last_turn` is the turn of the lane's last completion.
    void completed(uint64_t turn, uint64_t& last_turn) {
        assert(turn >= last_turn);
        add(turn == last_turn ? KSTAT_INTR_MULTSVC : KSTAT_INTR_HARD);
        last_turn = turn;
    }
    void handed_over() { add(KSTAT_INTR_SOFT); }
    void given_up() { add(KSTAT_INTR_WATCHDOG); }

    void ring_added(const Ring& ring);
    void ring_removed(const Ring& ring);

  private:
    struct Joined {
        const Ring* ring;
        uint32_t empty_wakeups_before;  // from before the lane
    };

    void add(size_t index) {
        assert(index < KSTAT_NUM_INTRS);
        publish(counts_.intrs[index], counts_.intrs[index] + 1);
    }
    [[nodiscard]] uint32_t empty_wakeups() const;
    static int update(kstat_t* ksp, int rw);

    kstat_intr_t counts_{};  // except the spurious ones, which the rings count
    mutable std::mutex rings_mutex_;
    std::vector<Joined> rings_;
    uint32_t empty_wakeups_before_ = 0;  // of removed rings
    OwnedKstat kstat_;                   // last: destroyed before the data that readers use
};

}  // namespace blkscope
