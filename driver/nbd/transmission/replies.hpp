// Replies: the replies of one client that are ready or being sent.
//
//     push ─▶ [ ready ] ── next() ─▶ [ on the wire: pieces ] ── taken() ─▶ released
//
// All ready replies are sent as one list of pieces. A send takes at most send_bytes_max of the
// list, so that progress within a long reply is noticed. A request is released as soon as its last
// byte is sent.
//
// Units:     bytes.
// Ownership: borrows requests from push() until they are released.
// Threads:   the worker's.
// Errors:    none.
#pragma once

#include <sys/uio.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "driver/nbd/protocol.hpp"
#include "driver/nbd/transmission/pending_request.hpp"
#include "driver/nbd/transmission/reply.hpp"

namespace blkscope::nbd {

class Replies {
  public:
    /// Limit of one send.
    static constexpr size_t send_bytes_max = size_t{1} << 20;

    explicit Replies(ReplyForm form);
    Replies& operator=(Replies&&) = delete;

    /// Encodes the request's reply and appends it to the ready ones.
    void push(PendingRequest& request);

    [[nodiscard]] bool empty() const { return ready_.empty() && on_the_wire_.empty(); }

    /// The pieces to send next, at least one. Call only if not empty(). The pieces stay valid until
    /// taken().
    std::span<iovec> next();
    /// Bytes of the pieces that next() returned.
    [[nodiscard]] size_t next_bytes() const { return window_bytes_; }

    /// Records that `bytes` of these pieces were sent. Calls `release` for each request that is
    /// done.
    template <class Release>
    void taken(size_t bytes, Release release) {
        skip(bytes);
        while (!on_the_wire_.empty() && on_the_wire_.front().wire_bytes <= sent_bytes_) {
            PendingRequest& request = on_the_wire_.pop();
            sent_bytes_ -= request.wire_bytes;
            release(request);
        }
        assert(!on_the_wire_.empty() || (sent_bytes_ == 0 && first_ == end_));
    }

    /// Calls `release` for each request whose reply is not yet in a list.
    template <class Release>
    void drop_ready(Release release) {
        while (!ready_.empty()) release(ready_.pop());
    }
    /// Calls `release` for every request. Not while a send is under way.
    template <class Release>
    void drop_all(Release release) {
        drop_ready(release);
        while (!on_the_wire_.empty()) release(on_the_wire_.pop());
        first_ = end_ = window_end_ = 0;
        sent_bytes_ = window_bytes_ = withheld_bytes_ = 0;
    }

  private:
    void gather();
    void cut_window();
    void join_window();
    void skip(size_t bytes);

    const ReplyForm form_;
    ReplyQueue ready_;
    ReplyQueue on_the_wire_;
    uint64_t sent_bytes_ = 0;  // of the first request on the wire

    std::unique_ptr<iovec[]> pieces_;
    size_t first_ = 0;           // first piece not sent yet
    size_t end_ = 0;             // of the list
    size_t window_end_ = 0;      // of the pieces that next() returned
    size_t window_bytes_ = 0;    // of those pieces
    size_t withheld_bytes_ = 0;  // of the last of those pieces; sent with the next pieces
};

}  // namespace blkscope::nbd
