// BusyWait: whether a worker with nothing to do should spin for a while before it sleeps.
//
// To wake a sleeping thread takes longer than a small request. In a virtual machine it takes
// longest, because the host has taken the processor back. A client with one request at a time sends
// the next one within microseconds of its reply. A worker that spins finds that request before
// sleep begins.
//
// The decision is a balance of the past waits. A short wait adds one to it, a long wait subtracts
// several. An idle worker therefore sleeps, and so does a worker whose clients are slow.
//
// Units:   nanoseconds.
// Threads: one.
// Errors:  none.
// Source:  the halt polling of KVM.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace blkscope {

class BusyWait {
  public:
    /// Longer spinning costs more than the sleep that it avoids.
    static constexpr uint64_t spin_ns_max = 100'000;

    [[nodiscard]] bool pays() const { return balance_ >= pays_from; }

    /// The worker slept at once, for `ns` in all, the waking included.
    void slept(uint64_t ns) { count(ns <= spin_ns_max + waking_ns); }

    /// The worker spun for `ns`. `found`: a completion ended the spinning.
    void spun(uint64_t ns, bool found) {
        if (ns > lost_ns_min) {
            balance_ = others_ran;
        } else {
            count(found);
        }
    }

  private:
    static constexpr uint64_t waking_ns = 50'000;
    static constexpr uint64_t lost_ns_min = 2 * spin_ns_max;

    // Spinning pays while fewer than one wait in `long_wait` is a long one.
    static constexpr int long_wait = 4;
    static constexpr int pays_from = 16;
    static constexpr int balance_max = 32;
    // Other threads need the processor. Short waits restore the balance in about ten milliseconds.
    static constexpr int others_ran = -200;

    void count(bool is_short) {
        balance_ = is_short ? std::min(balance_ + 1, balance_max)
                            : std::min(balance_, std::max(balance_ - long_wait, 0));
        assert(balance_ >= others_ran);
        assert(balance_ <= balance_max);
    }

    int balance_ = 0;
};

}  // namespace blkscope
