// DeviceQueue: which request of a device starts now. It decides, and does nothing else.
//
//     enter ─▶ waiting, in the order of arrival ── next ─▶ running, `depth` at most ── ended
//                                                   │
//                                                   └─▶ gathered: flushes that one more flush serves
//
// There is one order for all lanes: the request that came first starts first, whatever it asks and
// whoever brought it. So no lane keeps another out, whatever the depth.
//
// A flush takes its place in that order. While one is with the backing, those whose turn comes are
// gathered: the running one may have begun before the writes that they must cover had ended, and the
// next one cannot have. Gathered flushes hold no depth.
//
// Units:     requests.
// Ownership: borrows each buf from enter() until next() has given it out, or ended() its flush.
// Threads:   none of its own; a device calls it under its lock.
// Errors:    none to report. A call in the wrong state is the caller's bug, and aborts.
// Source:    blkdev's bd_sched(), kstat_queue(9F).
#pragma once

#include <cstdint>

#include "blockdev/queue/buf.hpp"

namespace blkscope {

class DeviceQueue {
  public:
    /// What became of the request whose turn came.
    struct Turn {
        Buf* buf = nullptr;  // nullptr: nothing can start
        bool runs = false;   // it goes to the backing; else it is a flush that was gathered
    };

    explicit DeviceQueue(uint32_t depth);

    [[nodiscard]] uint32_t depth() const { return depth_; }
    [[nodiscard]] uint32_t running() const { return running_; }
    /// Nothing waits, runs or is gathered.
    [[nodiscard]] bool idle() const;

    /// A request has come.
    void enter(Buf& buf);

    /// Takes out the request whose turn it is, if it can start now.
    [[nodiscard]] Turn next();

    /// A request that ran has ended. A flush is handed to end_flush() instead.
    void ended(const Buf& buf);

    /// The running flush has ended. Moves those that it served to `served`, in their order, and gives
    /// the one that runs next for all that were gathered meanwhile, or nullptr.
    [[nodiscard]] Buf* end_flush(const Buf& leader, BufQueue& served);

  private:
    uint32_t depth_;
    uint32_t running_ = 0;
    BufQueue waiting_;
    const Buf* flush_ = nullptr;  // the one that runs
    BufQueue served_;             // by the one that runs, besides itself
    BufQueue gathered_;           // for the next one
};

}  // namespace blkscope
