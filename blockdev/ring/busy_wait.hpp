// BusyWait: whether a worker with nothing to do had better look out for a while than sleep at once.
//
// To wake a thread takes longer than a small request, most of all in a virtual machine, where the
// processor that it slept on was handed back to the host. A client with one request at a time
// sends the next one within microseconds of its reply: looking out finds it before sleep has begun.
//
// It is a balance of what was seen: each wait that was short is one for it, each long one several
// against. So an idle worker sleeps, and so does one whose clients take their time.
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
    /// How long it pays to look out.
    static constexpr uint64_t spin_ns_max = 100'000;

    [[nodiscard]] bool pays() const { return balance_ >= pays_from; }

    /// Slept at once, and woke after so long; the waking is in it.
    void slept(uint64_t ns) { count(ns <= spin_ns_max + waking_ns); }

    /// Looked out for so long before something was found, or given up.
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

    // One in so many looks may be in vain, or the processor's time is not worth it.
    static constexpr int long_wait = 4;
    static constexpr int pays_from = 16;
    static constexpr int balance_max = 32;
    // Others have work for the processor; some ten milliseconds of requests go by first.
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
