// WaitingRequests: the requests of a device that have not started, and which of them is asked next.
//
//     arrival   all in one line, in the order of their arrival
//
//     fair      client A  a1 a2 a3 a4 ─┐
//               client B  b1 ──────────┼─▶ a1 b1 c1 a2 c2 a3 a4
//               client C  c1 c2 ───────┘
//
// In fair order each client that has something waiting starts one request in its turn. A new client
// joins at the end of the turns. So a request waits for its client's earlier requests. At
// each start of these, one request of each other client may start. The requests without a client take turns as if
// they were of one client.
//
// In one pass a request may be refused, because it lacks tokens. The request keeps its place for the
// next pass. In fair order its client keeps its turn, and may start a later request instead.
//
// Units:     requests.
// Ownership: borrows each buf and its client until take_front().
// Threads:   none of its own; DeviceQueue calls it.
// Errors:    none to report. A call in the wrong state is the caller's bug, and aborts.
// Source:    deficit round robin (Shreedhar and Varghese, 1995), with a quantum of one request.
#pragma once

#include <cassert>
#include <cstdint>

#include "blockdev/queue/buf.hpp"
#include "blockdev/queue/client.hpp"

namespace blkscope {

class WaitingRequests {
  public:
    explicit WaitingRequests(StartOrder order) : order_(order) {}
    WaitingRequests(const WaitingRequests&) = delete;
    WaitingRequests& operator=(const WaitingRequests&) = delete;

    /// No request waits, refused ones included.
    [[nodiscard]] bool none() const { return turns_.empty() && refused_.empty(); }
    /// No request is left to ask in this pass.
    [[nodiscard]] bool all_asked() const { return turns_.empty(); }

    void enter(Buf& buf);

    /// The request that is asked next; there is one.
    [[nodiscard]] Buf& front() const { return turns_.front().waiting.front(); }
    /// The next request starts.
    Buf& take_front();
    /// The next request lacks tokens.
    void refuse_front();
    /// The refused requests are asked again, in their places.
    void end_pass();

    /// Moves the requests for which `take` is true to `taken`. Not within a pass.
    template <class Take>
    void take_out(Take take, BufQueue& taken) {
        assert(!any_refused_);
        WaitingLines rest;
        while (!turns_.empty()) {
            WaitingLine& line = turns_.pop();
            BufQueue kept;
            while (!line.waiting.empty()) {
                Buf& buf = line.waiting.pop();
                (take(buf) ? taken : kept).push(buf);
            }
            line.waiting.take_over(kept);
            if (!line.waiting.empty()) rest.push(line);
        }
        turns_.take_over(rest);
    }

  private:
    [[nodiscard]] WaitingLine& line_of(const Buf& buf);

    const StartOrder order_;
    WaitingLine all_;       // in order of arrival; in fair order of the requests without a client
    WaitingLines turns_;    // with requests to ask, by turn
    WaitingLines refused_;  // all their requests were refused in this pass, by turn
    bool any_refused_ = false;
};

}  // namespace blkscope
