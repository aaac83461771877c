// UpstreamRequest: a buf, or a part of it, as a request to another server. And UpstreamRequests: all
// requests of one backing.
//
//     free ── acquire() ─▶ waiting ── the backing sends it ─▶ sent ── answer ─▶ free
//                             ▲                                 │
//                             └────── the connection is lost ───┘
//
// Units:     bytes; nanoseconds of the ring's clock.
// Ownership: borrows the buf until its result.
// Threads:   the ring's worker.
// Errors:    none; a request's error is an errno.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "blockdev/queue/buf.hpp"
#include "driver/nbd/client/requester.hpp"
#include "driver/nbd/client/upstream_order.hpp"

namespace blkscope::nbd {

struct UpstreamRequest : RemoteRequest {
    enum class State : uint8_t { free, waiting, sent };

    State state = State::free;
    bool exposed = false;  // the server of a lost connection may have it
    Buf* buf = nullptr;
    hrtime_t waits_since = 0;  // for the server; in an outage also in the device's queue
    uint64_t number = 0;       // in the order of arrival
    uint64_t flush_mark = 0;   // of UnflushedWrites, when a flush was sent
    UpstreamWrite range;       // in the order, if it writes

    [[nodiscard]] bool writes() const;
    /// The request is its whole buf, and no part of it.
    [[nodiscard]] bool is_whole() const;
    /// Takes on the rest of the buf, or as much of it as one request may be.
    void begin(Buf& its_buf, uint64_t data_bytes_max);
    /// Forgets what a requester has noted, which is destroyed.
    void forget_sending();
    /// The result of the answered request for Backing::prepare(). Lists a read's holes.
    [[nodiscard]] int32_t take_result();

  private:
    void list_holes();
};

class UpstreamRequests {
  public:
    UpstreamRequest& acquire();
    void release(UpstreamRequest& request);

    /// No request is in use.
    [[nodiscard]] bool empty() const { return free_.size() == all_.size(); }

    /// When the oldest request without an answer was sent; `now`, if there is none.
    [[nodiscard]] hrtime_t oldest_sent(hrtime_t now) const;

    template <class Call>
    void for_each(Call call) {
        for (UpstreamRequest& request : all_) {
            if (request.state != UpstreamRequest::State::free) call(request);
        }
    }

  private:
    std::deque<UpstreamRequest> all_;  // grows up to the depth of the device
    std::vector<UpstreamRequest*> free_;
    uint64_t acquired_ = 0;
};

}  // namespace blkscope::nbd
