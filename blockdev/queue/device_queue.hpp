// DeviceQueue: which request of a device starts now. The class only decides.
//
//     enter ─▶ waiting, in their order ──────────── next ─▶ running, `depth` at most ── ended
//                │                                  │
//                │                                  └─▶ gathered: flushes that the next one serves
//                └─▶ refused: lacks tokens of a limit, and keeps its place
//
// All lanes share one order. In the order of arrival the request that arrived first starts first,
// whatever its operation and its lane. In fair order the clients take turns: see WaitingRequests. No
// lane can keep another lane's requests from starting.
//
// A flush takes its place in that order. If a flush is already running, the next flushes are
// gathered when their turn comes. The running flush may have begun before the writes that they must
// cover had ended. The next flush begins later, so one flush serves all gathered ones. Gathered
// flushes take no depth.
//
// Limits of the device, or of the request's client, may refuse a request. The request keeps its place,
// and a later request that needs other tokens may start before it. One pass asks for each waiting
// request once, as long as there is depth: without a place a request takes no tokens. The next pass
// begins when tokens may be there.
//
// Units:     requests.
// Ownership: borrows each buf from enter() until next() returns it to run. Borrows a flush until
//            end_flush() or give_up_flush() has returned it, or moved it to `served`.
// Threads:   none of its own; the device calls it under its lock.
// Errors:    none to report. A call in the wrong state is the caller's bug, and aborts.
// Source:    blkdev's bd_sched(), kstat_queue(9F).
#pragma once

#include <cstdint>

#include "base/seqlock.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/queue/waiting_requests.hpp"

namespace blkscope {
namespace model {
class Limits;
}

class DeviceQueue {
  public:
    /// The request whose turn has come, and whether it runs.
    struct Turn {
        Buf* buf = nullptr;  // nullptr: nothing can start
        bool runs = false;   // true: it goes to the backing; false: a flush that was gathered
    };

    explicit DeviceQueue(uint32_t depth, StartOrder order = StartOrder::arrival);

    /// Any thread.
    [[nodiscard]] uint32_t depth() const { return observe(depth_); }
    /// Requests above a depth that was lowered run to their end.
    void set_depth(uint32_t depth);

    /// Any thread.
    [[nodiscard]] StartOrder order() const { return observe(order_); }
    void set_order(StartOrder order);

    [[nodiscard]] uint32_t running() const { return running_; }
    /// A request waits for its turn.
    [[nodiscard]] bool waits() const { return !waiting_.none(); }
    /// No request waits, runs or is gathered.
    [[nodiscard]] bool idle() const;

    /// A request has arrived.
    void enter(Buf& buf);

    /// Begins a pass of the limits over all waiting requests. The caller then calls next() until
    /// nothing can start, and asks the limits for the next moment. Clients' limits have begun before.
    void begin_pass(model::Limits& limits, hrtime_t now);
    /// The same if only clients have limits.
    void begin_pass(hrtime_t now);
    /// The pass goes on: only requests that have not been refused are asked.
    void go_on(hrtime_t now) { now_ = now; }
    /// No limit holds any more.
    void end_passes() { waiting_.forget_refusals(); }
    /// Changes when a request is refused.
    [[nodiscard]] uint64_t refusals() const { return waiting_.refusals(); }

    /// Removes the request whose turn it is, if it can start now.
    [[nodiscard]] Turn next(model::Limits* limits = nullptr);

    /// Moves the waiting requests and the flushes behind the running one for which `take` is true to `taken`.
    template <class Take>
    void take_out(Take take, BufQueue& taken) {
        waiting_.take_out(take, taken);
        for (BufQueue* const flushes : {&served_, &gathered_}) {
            BufQueue all;
            all.take_over(*flushes);
            while (!all.empty()) {
                Buf& buf = all.pop();
                take(buf) ? taken.push(buf) : join(buf, *flushes);
            }
        }
    }

    /// A running request has ended. For a flush, call end_flush() instead.
    void ended(const Buf& buf);

    /// The running flush has ended. Moves the gathered flushes that it served to `served`, in their
    /// order. Returns the flush that runs next for the flushes gathered meanwhile, or nullptr.
    [[nodiscard]] Buf* end_flush(const Buf& leader, BufQueue& served);
    /// The running flush has ended without an attempt, because its client did. Those that it was to serve are the
    /// first to be served by the next one. Returns that flush, or nullptr.
    [[nodiscard]] Buf* give_up_flush(const Buf& leader);

  private:
    [[nodiscard]] Turn take_front();
    [[nodiscard]] Buf* next_flush();
    static void join(Buf& flush, BufQueue& others);

    uint32_t depth_;
    StartOrder order_;
    uint32_t running_ = 0;
    hrtime_t now_ = 0;  // of the pass
    WaitingRequests waiting_;
    const Buf* flush_ = nullptr;  // the running flush
    BufQueue served_;             // by the running flush, besides itself
    BufQueue gathered_;           // for the next flush
};

}  // namespace blkscope
