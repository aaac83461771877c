// Slowest: the slowest requests of a device in each of the last seconds.
//
//     second   -59  ...  -1   now
//               32        32   32 requests at most, by their time from arrival to reply
//
// A request belongs to the second in which its reply was sent. A request that is
// faster than the 32 costs a comparison only.
//
// Units:     ticks of the kernel's clock inside; nanoseconds in list().
// Ownership: owns the board, which uses a page at its first write.
// Threads:   a worker, with the device locked. Another thread reads with the device locked.
// Errors:    the constructor throws std::bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/seqlock.hpp"
#include "blockdev/accounting/counter_pages.hpp"
#include "blockdev/accounting/subject.hpp"
#include "blockdev/queue/buf.hpp"
#include "trace/request.hpp"

namespace blkscope {

class Slowest {
  public:
    static constexpr size_t seconds = 60;
    static constexpr size_t per_second = 32;

    Slowest(const Seqlock& /*seq*/, const Subject& /*subject*/) {}

    void replied(const Buf& buf) {
        if (buf.replied >= second_end_) begin_second(buf);
        const hrtime_t ticks = buf.replied - arrival_of(buf);
        if (full_ && ticks <= least_) return;
        insert(buf, ticks);
    }

    /// The requests of the minute before `now_ns` that took at least `over_ns`, the slowest first.
    [[nodiscard]] std::vector<trace::Request> list(hrtime_t now_ns, hrtime_t over_ns) const;

  private:
    using Stored = std::array<std::byte, sizeof(trace::Request)>;
    struct Second {
        hrtime_t number;  // of the second on the kernel's clock, from 1 on; 0 for none yet
        size_t count;
        std::array<Stored, per_second> requests;
    };
    using Board = std::array<Second, seconds>;

    static hrtime_t arrival_of(const Buf& buf) {
        return buf.received > 0 ? buf.received : buf.queued;
    }
    void begin_second(const Buf& buf);
    void insert(const Buf& buf, hrtime_t ticks);

    CounterPages<Board> board_;
    Second* current_ = nullptr;
    hrtime_t second_end_ = 0;
    std::array<hrtime_t, per_second> ticks_{};  // of the current second's requests
    hrtime_t least_ = 0;                        // of ticks_
    bool full_ = false;                         // the current second has per_second requests
};

}  // namespace blkscope
