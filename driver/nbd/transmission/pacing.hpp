// Pacing: whether a client of a Unix socket is asked for its next requests at once, or when it has
// taken most of the replies that it was given.
//
// A client that takes longer over a reply than we do always has some lying in its socket. Asked at
// once it brings one request, which is read, served and answered by itself; asked when the replies
// run low it brings ten, and was never idle. Whether it was is seen from what is left in the socket
// when the next replies are ready: if that is little, it may have waited for us, and the holds to
// follow are skipped, twice as many each time.
//
// Units:   bytes; of what is left, with what the kernel adds.
// Threads: one.
// Errors:  none.
// Source:  the interrupt coalescing of network cards.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace blkscope::nbd {

class Pacing {
  public:
    /// Before a receive: whether it is held until the client has taken most of its replies.
    [[nodiscard]] bool hold() {
        if (bytes_sent_ < bytes_between_holds) return false;
        bytes_sent_ = 0;
        held_ = skip_ == 0;
        if (skip_ > 0) --skip_;
        return held_;
    }

    /// Before replies are sent: whether found_left() wants to be told.
    [[nodiscard]] bool asks_what_is_left() const { return held_; }
    /// The client still had so much to take after the hold.
    void found_left(uint64_t bytes) {
        held_ = false;
        assert(skips_ <= skips_max);
        skips_ = bytes >= left_min ? skips_ / 2 : std::min(2 * skips_ + 1, skips_max);
        skip_ = skips_;
    }

    void sent(uint64_t bytes) { bytes_sent_ += bytes; }

  private:
    // Less than this is taken before a hold could begin.
    static constexpr uint64_t bytes_between_holds = 32768;
    static constexpr uint64_t left_min = 32768;
    static constexpr unsigned skips_max = 128;

    uint64_t bytes_sent_ = 0;  // since the last receive that was, or might have been, held
    unsigned skips_ = 0;       // after the next hold that was too long
    unsigned skip_ = 0;        // of those, still to come
    bool held_ = false;
};

}  // namespace blkscope::nbd
