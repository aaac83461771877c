// Pacing: when a receive from a Unix socket starts.
//
// A receive starts at once, or is held back until the client has read most of its replies.
//
// A client may need longer for a reply than we do. The socket then always holds unread replies. A
// receive that starts at once brings one request, and each request costs a turn. A receive that is
// held back brings about ten, and the client is never idle.
//
// The bytes still unread when the next replies are ready show whether a hold was too long. If few
// are left, the client may have waited. The next holds are then skipped, twice as many each time.
//
// Units:   bytes; unread bytes include the kernel's overhead.
// Threads: the worker's.
// Errors:  none.
// Source:  the interrupt coalescing of network cards.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace blkscope::nbd {

class Pacing {
  public:
    /// Call before a receive. True: hold it back until the client has read most of its replies.
    [[nodiscard]] bool hold() {
        if (bytes_sent_ < bytes_between_holds) return false;
        bytes_sent_ = 0;
        held_ = skip_ == 0;
        if (skip_ > 0) --skip_;
        return held_;
    }

    /// Call before a send. True: found_left() needs the number of unread bytes.
    [[nodiscard]] bool asks_what_is_left() const { return held_; }
    /// Reports the bytes that the client had not read after the hold.
    void found_left(uint64_t bytes) {
        held_ = false;
        assert(skips_ <= skips_max);
        skips_ = bytes >= left_min ? skips_ / 2 : std::min(2 * skips_ + 1, skips_max);
        skip_ = skips_;
    }

    void sent(uint64_t bytes) { bytes_sent_ += bytes; }

  private:
    // Bytes sent between two possible holds.
    static constexpr uint64_t bytes_between_holds = 32768;
    static constexpr uint64_t left_min = 32768;
    static constexpr unsigned skips_max = 128;

    uint64_t bytes_sent_ = 0;  // since the last receive at which a hold was possible
    unsigned skips_ = 0;       // after the next hold that was too long
    unsigned skip_ = 0;        // holds still to be skipped
    bool held_ = false;
};

}  // namespace blkscope::nbd
