// TokenBucket: a rate that may not be exceeded for long, with or without credits for bursts.
//
//     tokens
//        full |‾‾\      ____
//             |   \____/    \        a request starts when there is more than nothing
//           0 +--------------\--/--  and takes its whole cost, so it may leave a debt
//                             \/
//
// Without credits the bucket holds 10 ms of its rate, at least one token. With credits it holds
// them, and a second bucket holds 10 ms of PEAK. Both fill all the time and both are paid. So
// credits are spent at rate - BASE, and come back at BASE - rate.
//
// The arithmetic is in whole billionths of a token. A rate per second is the same number of
// billionths per nanosecond, so no rounding adds up.
//
// Units:     tokens (operations or bytes), tokens per second, nanoseconds.
// Ownership: a value.
// Threads:   one at a time. Moments do not decrease.
// Errors:    none.
// Source:    Amazon EBS user guide, I/O credits and burst performance.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace blkscope::model {

struct Rate {
    uint64_t base = 0;     // tokens per second
    uint64_t peak = 0;     // tokens per second; 0: there are no credits
    uint64_t credits = 0;  // the most tokens that can be saved
    uint64_t initial = 0;  // of them at the begin

    friend bool operator==(const Rate&, const Rate&) = default;
};

class TokenBucket {
  public:
    /// The largest number of a Rate, so that no sum overflows.
    static constexpr uint64_t tokens_max = uint64_t{1} << 56;

    TokenBucket(const Rate& rate, hrtime_t now);

    /// `now` if a request may start now, else the first moment at which one may.
    [[nodiscard]] hrtime_t ready_at(hrtime_t now) const;
    /// Since when a request may start. One may start now.
    [[nodiscard]] hrtime_t ready_since(hrtime_t now) const;
    /// Takes the cost of a request that starts now.
    void take(uint64_t tokens, hrtime_t now);
    /// When the bucket is full, if nothing more is taken. Not before `now`.
    [[nodiscard]] hrtime_t full_at(hrtime_t now) const;
    /// The tokens at `now`, rounded down; negative for a debt. With credits: the credits.
    [[nodiscard]] int64_t level(hrtime_t now) const;
    /// Sets the tokens at `now`, at most those of a full bucket, and at least a day's debt. With
    /// credits: the credits.
    void set_level(int64_t tokens, hrtime_t now);

  private:
    __extension__ using Wide = __int128;

    // One bucket: level and capacity in billionths of a token.
    struct Fill {
        Wide level = 0;
        Wide capacity = 0;
        uint64_t rate = 0;
        hrtime_t since = 0;  // the moment of `level`

        [[nodiscard]] Wide level_at(hrtime_t now) const;
        [[nodiscard]] hrtime_t ready_at(hrtime_t now) const;
        [[nodiscard]] hrtime_t ready_since(hrtime_t now) const;
        [[nodiscard]] hrtime_t full_at(hrtime_t now) const;
        void take(uint64_t tokens, hrtime_t now);
    };

    static Fill ten_ms_of(uint64_t rate, hrtime_t now);

    Fill tokens_;
    Fill peak_;  // its rate is 0 if there are no credits
};

}  // namespace blkscope::model
