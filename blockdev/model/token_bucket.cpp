#include "blockdev/model/token_bucket.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace blkscope::model {
namespace {

constexpr int64_t billionths = 1'000'000'000;
constexpr uint64_t full_in_share = 100;  // 10 ms, as a share of a second

}  // namespace

auto TokenBucket::Fill::level_at(hrtime_t now) const -> Wide {
    assert(now >= since);
    return std::min(capacity, level + Wide{rate} * (now - since));
}

hrtime_t TokenBucket::Fill::ready_at(hrtime_t now) const {
    assert(rate > 0);
    const Wide have = level_at(now);
    if (have > 0) return now;
    return now + static_cast<hrtime_t>((1 - have + rate - 1) / rate);
}

// A full bucket may have been full for longer. Then this is not the first such moment.
hrtime_t TokenBucket::Fill::ready_since(hrtime_t now) const {
    assert(rate > 0);
    const Wide have = level_at(now);
    assert(have > 0);
    return now - static_cast<hrtime_t>((have - 1) / rate);
}

hrtime_t TokenBucket::Fill::full_at(hrtime_t now) const {
    assert(rate > 0);
    const Wide lacking = capacity - level_at(now);
    const Wide ns = (lacking + rate - 1) / rate;
    constexpr hrtime_t latest = std::numeric_limits<hrtime_t>::max();
    return ns < latest - now ? now + static_cast<hrtime_t>(ns) : latest;
}

void TokenBucket::Fill::take(uint64_t tokens, hrtime_t now) {
    assert(tokens <= tokens_max);
    level = level_at(now) - Wide{tokens} * billionths;
    since = now;
}

TokenBucket::Fill TokenBucket::ten_ms_of(uint64_t rate, hrtime_t now) {
    const Wide capacity = std::max<Wide>(Wide{rate} * billionths / full_in_share, billionths);
    return {capacity, capacity, rate, now};
}

TokenBucket::TokenBucket(const Rate& rate, hrtime_t now) {
    assert(rate.base > 0 && rate.base <= tokens_max);
    assert(rate.peak <= tokens_max && rate.credits <= tokens_max);
    if (rate.peak == 0) {
        tokens_ = ten_ms_of(rate.base, now);
        return;
    }
    assert(rate.peak >= rate.base && rate.credits > 0 && rate.initial <= rate.credits);
    tokens_ = {Wide{rate.initial} * billionths, Wide{rate.credits} * billionths, rate.base, now};
    peak_ = ten_ms_of(rate.peak, now);
}

hrtime_t TokenBucket::ready_at(hrtime_t now) const {
    const hrtime_t ready = tokens_.ready_at(now);
    return peak_.rate == 0 ? ready : std::max(ready, peak_.ready_at(now));
}

hrtime_t TokenBucket::ready_since(hrtime_t now) const {
    const hrtime_t since = tokens_.ready_since(now);
    return peak_.rate == 0 ? since : std::max(since, peak_.ready_since(now));
}

hrtime_t TokenBucket::full_at(hrtime_t now) const {
    const hrtime_t full = tokens_.full_at(now);
    return peak_.rate == 0 ? full : std::max(full, peak_.full_at(now));
}

void TokenBucket::take(uint64_t tokens, hrtime_t now) {
    tokens_.take(tokens, now);
    if (peak_.rate != 0) peak_.take(tokens, now);
}

void TokenBucket::set_level(int64_t tokens, hrtime_t now) {
    assert(now >= tokens_.since);
    constexpr Wide day = Wide{86'400} * billionths;
    tokens_.level = std::clamp(Wide{tokens} * billionths, -day * tokens_.rate, tokens_.capacity);
    tokens_.since = now;
}

int64_t TokenBucket::level(hrtime_t now) const {
    const Wide level = tokens_.level_at(now);
    const Wide whole = level / billionths;
    return static_cast<int64_t>(level < 0 && whole * billionths != level ? whole - 1 : whole);
}

}  // namespace blkscope::model
