// WaitingRequests: the requests of a device that have not started, and which of them is asked next.
//
//     arrival   all in the order of their arrival
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
// A request that lacks tokens is refused, and is not asked again before tokens may be there. A later
// request of its line may start meanwhile. When tokens are there, the line that was refused first has
// them first, whatever it has started meanwhile. The request then starts in its turn. So no line is
// kept from tokens because it starts other requests.
//
//     refuse_front() ─▶ refused ── ask_again() ─▶ to ask ── ask_refused() ─┬─▶ paid ─▶ take_front()
//                          ▲                        ▲                      │              │
//                          └─ still lacks tokens ───┼──────────────────────┘              │
//                                                   └─ the line has more of them ─────────┘
//
// Refused requests are asked again only when there is a place, and one of a line at a time. Otherwise
// the tokens of a long stall would be saved up in waiting requests, beyond what the bucket holds.
//
// A client with limits has a line of its own in both orders. When none of its waiting requests can
// have tokens, the line is refused as a whole. So its requests cost other clients nothing.
//
// Units:     requests.
// Ownership: borrows each buf and its client until take_front() or take_out().
// Threads:   none of its own; DeviceQueue calls it.
// Errors:    none to report. A call in the wrong state is the caller's bug, and aborts.
// Source:    deficit round robin (Shreedhar and Varghese, 1995), with a quantum of one request.
#pragma once

#include <cstdint>

#include "blockdev/queue/admission.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/queue/client.hpp"

namespace blkscope {

class WaitingRequests {
  public:
    explicit WaitingRequests(StartOrder order) : order_(order) {}
    WaitingRequests& operator=(WaitingRequests&&) = delete;

    /// No request waits, refused ones included.
    [[nodiscard]] bool none() const {
        return turns_.empty() && refused_.empty() && to_ask_.empty();
    }
    /// No request is left to ask or to start before ask_refused().
    [[nodiscard]] bool all_asked() const { return turns_.empty(); }
    /// How often requests were refused. After a refusal the limits may have another moment to ask.
    [[nodiscard]] uint64_t refusals() const { return refusals_; }

    void enter(Buf& buf);

    /// Holds for requests that have not been asked for tokens, and for later ones. Those that a limit has
    /// refused keep the line that they are in.
    void set_order(StartOrder order);

    /// The request that is asked next; there is one.
    [[nodiscard]] Buf& front();
    /// That request has its tokens.
    [[nodiscard]] bool front_is_paid() { return !turns_.front().paid.empty(); }
    /// The next request starts.
    Buf& take_front();
    /// The next request lacks tokens.
    void refuse_front(const Admission& admission);

    /// Tokens may be there: the refused requests are to be asked again.
    void ask_again();
    /// Some are still to be asked. They have the tokens before new requests.
    [[nodiscard]] bool left_to_ask() const { return !to_ask_.empty(); }
    /// There is a place: gives tokens to one refused request of each line that has paid for none.
    void ask_refused(const Admission& admission);
    /// No limit holds any more: the refused requests wait in their places.
    void forget_refusals();

    /// Moves the requests for which `take` is true to `taken`.
    template <class Take>
    void take_out(Take take, BufQueue& taken) {
        WaitingLines lines;
        lines.take_over(turns_);
        while (!lines.empty()) {
            WaitingLine& line = lines.pop();
            if (!line.paid.empty()) {
                split(line.paid, take, taken);
                split(line.refused, take, taken);
                if (line.paid.empty() && !line.refused.empty()) to_ask_.push(line);
            }
            split(line.waiting, take, taken);
            line.has_turn = line.may_have_turn();
            if (line.has_turn) turns_.push(line);
        }
        for (RefusedLines* const some : {&refused_, &to_ask_}) {
            RefusedLines all;
            all.take_over(*some);
            while (!all.empty()) {
                WaitingLine& line = all.pop();
                split(line.refused, take, taken);
                if (!line.refused.empty()) some->push(line);
            }
        }
    }

  private:
    [[nodiscard]] WaitingLine& line_of(const Buf& buf);
    [[nodiscard]] bool is_of_one_client(const WaitingLine& line) const { return &line != &all_; }
    void give_turn(WaitingLine& line);
    void bring_earliest_forward();
    [[nodiscard]] WaitingLine& pop_to_ask();
    bool pay_one(WaitingLine& line, const Admission& admission);

    template <class Queue, class Take>
    static void split(Queue& queue, Take take, BufQueue& taken) {
        Queue kept;
        while (!queue.empty()) {
            Buf& buf = queue.pop();
            if (take(buf)) {
                taken.push(buf);
            } else {
                kept.push(buf);
            }
        }
        queue.take_over(kept);
    }

    StartOrder order_;
    WaitingLine all_;       // without a line of their client
    WaitingLines turns_;    // with requests to ask; in fair order by turn
    RefusedLines refused_;  // with requests that lack tokens, by the first refusal
    RefusedLines to_ask_;   // with refused requests, and none that has paid
    uint64_t refusals_ = 0;
};

}  // namespace blkscope
