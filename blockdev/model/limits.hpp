// Limits: which waiting request may start now by its tokens, and when to ask again.
//
//     begin(now) ─▶ admit(first) ─▶ admit(second) ─▶ ... ─▶ again_at()
//                     yes: paid       no: waits, in its place
//
// One pass asks for the waiting requests in their order, as long as the depth has room. A request
// that lacks a token waits. Behind it no request passes that needs the same bucket; others may. Until
// the first bucket that lacks tokens has some, a new pass would refuse the same requests. So the
// caller asks for new requests in the same pass until then.
//
//     request             operations   buckets of it
//     read                by bytes     iops bps read_iops read_bps
//     write               by bytes     iops bps write_iops write_bps
//     cache               1            iops read_iops
//     flush trim zeroes   1            iops write_iops
//     status              free         none
//
// The exceeded time of a bucket is the time in which the first request that could start otherwise
// lacked it. The time begins with the pass that refused the request. The time ends when
// the bucket has tokens again, or with the next pass.
//
// Units:     nanoseconds of the caller's clock.
// Ownership: a value. Borrows each buf for the call.
// Threads:   one at a time. Moments do not decrease.
// Errors:    none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "blockdev/model/limit_spec.hpp"
#include "blockdev/model/token_bucket.hpp"
#include "blockdev/queue/buf.hpp"
#include "trace/model_state.hpp"

namespace blkscope::model {

class Limits {
  public:
    using Name = LimitSpec::Name;

    Limits(const LimitSpec& spec, hrtime_t now);

    [[nodiscard]] const LimitSpec& spec() const { return spec_; }

    /// Begins a pass over the waiting requests.
    void begin(hrtime_t now);
    /// The pass goes on at a later moment.
    void go_on(hrtime_t now) { now_ = std::max(now_, now); }
    /// Whether the next request of the pass may start. Takes its cost if so.
    bool admit(const Buf& buf) {
        if (!has_tokens(buf)) return false;
        take(buf);
        return true;
    }
    /// The same in two steps, for a request that other limits may refuse.
    [[nodiscard]] bool has_tokens(const Buf& buf);
    void take(const Buf& buf);
    /// Since when the tokens of the request that was admitted last were there.
    [[nodiscard]] hrtime_t admitted_since() const { return admitted_since_; }
    /// The operations of which no request behind can start in this pass, as bits.
    [[nodiscard]] uint8_t barred() const { return barred_; }
    /// When the first bucket that lacks tokens in this pass has some; nothing if none lacks any. The
    /// request that was refused first may need further buckets, and one behind it only this one.
    [[nodiscard]] std::optional<hrtime_t> again_at() const;

    /// The tokens of a bucket that has a rate; negative for a debt.
    [[nodiscard]] int64_t level(Name name, hrtime_t now) const;
    /// Adds the tokens of each bucket to `state`.
    void add_to(trace::ModelState& state, hrtime_t now) const;
    /// The buckets have the tokens of `state` at `now`, and others stay as they are.
    void go_on_from(const trace::ModelState& state, hrtime_t now);
    /// When all buckets are full, if no request starts. Not before `now`.
    [[nodiscard]] hrtime_t full_at(hrtime_t now) const;
    /// The exceeded time of a bucket up to `now`, and the time in which any bucket was exceeded.
    [[nodiscard]] uint64_t exceeded_ns(Name name, hrtime_t now) const;
    [[nodiscard]] uint64_t exceeded_ns(hrtime_t now) const;

  private:
    struct Bucket {
        std::optional<TokenBucket> tokens;
        bool lacked = false;    // by a request of this pass
        hrtime_t since = 0;     // the begin of the pass in which it was lacked
        hrtime_t ready_at = 0;  // if lacked: when it has tokens again
        uint64_t exceeded_ns = 0;

        [[nodiscard]] uint64_t exceeded_until(hrtime_t now) const;
    };

    [[nodiscard]] static bool needs(Buf::Op op, Name name);
    void find_barred();
    [[nodiscard]] uint64_t cost(const Buf& buf, Name name) const;
    [[nodiscard]] const Bucket& bucket(Name name) const {
        return buckets_[static_cast<size_t>(name)];
    }
    template <class Do>
    void each_bucket_of(const Buf& buf, Do act);

    LimitSpec spec_;
    std::array<Bucket, LimitSpec::name_count> buckets_;
    hrtime_t now_;
    hrtime_t admitted_since_;
    uint8_t barred_ = 0;
    uint64_t exceeded_ns_ = 0;  // by any bucket, in earlier passes
};

}  // namespace blkscope::model
