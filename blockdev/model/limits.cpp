#include "blockdev/model/limits.hpp"

#include <cassert>
#include <limits>

#include "blockdev/ring/planted.hpp"

namespace blkscope::model {

Limits::Limits(const LimitSpec& spec, hrtime_t now) : spec_(spec), now_(now), admitted_since_(now) {
    for (size_t i = 0; i < buckets_.size(); ++i) {
        if (spec_.rates[i]) buckets_[i].tokens.emplace(*spec_.rates[i], now);
    }
}

uint64_t Limits::Bucket::exceeded_until(hrtime_t now) const {
    if (!lacked) return exceeded_ns;
    assert(now >= since && ready_at > since);
    return exceeded_ns + static_cast<uint64_t>(std::min(now, ready_at) - since);
}

void Limits::begin(hrtime_t now) {
    assert(now >= now_);
    exceeded_ns_ = exceeded_ns(now);
    now_ = now;
    barred_ = 0;
    for (Bucket& bucket : buckets_) {
        bucket.exceeded_ns = bucket.exceeded_until(now);
        bucket.lacked = false;
    }
}

bool Limits::has_tokens(const Buf& buf) {
    hrtime_t ready = now_;
    bool behind = false;  // a request that waits for the same bucket
    each_bucket_of(buf, [&](Bucket& bucket, Name) {
        behind = behind || bucket.lacked;
        ready = std::max(ready, bucket.tokens->ready_at(now_));
    });
    if (behind) return false;
    if (ready > now_) {
        each_bucket_of(buf, [&](Bucket& bucket, Name) {
            bucket.ready_at = bucket.tokens->ready_at(now_);
            bucket.lacked = bucket.ready_at > now_;
            bucket.since = now_;
        });
        find_barred();
        return false;
    }
    return true;
}

void Limits::take(const Buf& buf) {
    admitted_since_ = std::numeric_limits<hrtime_t>::min();
    each_bucket_of(buf, [&](Bucket& bucket, Name name) {
        admitted_since_ = std::max(admitted_since_, bucket.tokens->ready_since(now_));
        bucket.tokens->take(cost(buf, name), now_);
    });
}

template <class Do>
void Limits::each_bucket_of(const Buf& buf, Do act) {
    for (size_t i = 0; i < buckets_.size(); ++i) {
        const auto name = static_cast<Name>(i);
        if (buckets_[i].tokens && needs(buf.op, name)) act(buckets_[i], name);
    }
}

void Limits::find_barred() {
    for (size_t op = 0; op < Buf::op_count; ++op) {
        for (size_t i = 0; i < buckets_.size(); ++i) {
            if (!buckets_[i].lacked) continue;
            if (!needs(static_cast<Buf::Op>(op), static_cast<Name>(i))) continue;
            barred_ = static_cast<uint8_t>(barred_ | 1U << op);
        }
    }
}

std::optional<hrtime_t> Limits::again_at() const {
    std::optional<hrtime_t> first;
    for (const Bucket& each : buckets_) {
        if (each.lacked) first = std::min(first.value_or(each.ready_at), each.ready_at);
    }
    return first;
}

bool Limits::needs(Buf::Op op, Name name) {
    if (op == Buf::Op::block_status) return false;
    const bool reading =
        op == Buf::Op::read || (op == Buf::Op::cache && !planted("cache-is-a-write"));
    switch (name) {
        case Name::iops:
            return true;
        case Name::bps:
            return op == Buf::Op::read || op == Buf::Op::write;
        case Name::read_iops:
            return reading;
        case Name::read_bps:
            return op == Buf::Op::read;
        case Name::write_iops:
            return !reading;
        case Name::write_bps:
            return op == Buf::Op::write;
    }
    assert(false);
    return false;
}

uint64_t Limits::cost(const Buf& buf, Name name) const {
    const bool bytes = name == Name::bps || name == Name::read_bps || name == Name::write_bps;
    if (bytes) return buf.bcount;
    if (!buf.in_queues() || spec_.unit_bytes == 0 || buf.bcount == 0) return 1;
    return (buf.bcount - 1) / spec_.unit_bytes + 1;
}

int64_t Limits::level(Name name, hrtime_t now) const {
    assert(bucket(name).tokens);
    return bucket(name).tokens->level(now);
}

void Limits::add_to(trace::ModelState& state, hrtime_t now) const {
    for (size_t i = 0; i < buckets_.size(); ++i) {
        if (!buckets_[i].tokens) continue;
        state.tokens[std::string(LimitSpec::names[i])] = buckets_[i].tokens->level(now);
    }
}

void Limits::go_on_from(const trace::ModelState& state, hrtime_t now) {
    assert(now >= now_);
    for (size_t i = 0; i < buckets_.size(); ++i) {
        const auto found = state.tokens.find(std::string(LimitSpec::names[i]));
        if (!buckets_[i].tokens || found == state.tokens.end()) continue;
        buckets_[i].tokens->set_level(found->second, now);
    }
}

hrtime_t Limits::full_at(hrtime_t now) const {
    hrtime_t full = now;
    for (const Bucket& each : buckets_) {
        if (each.tokens) full = std::max(full, each.tokens->full_at(now));
    }
    return full;
}

uint64_t Limits::exceeded_ns(Name name, hrtime_t now) const {
    return bucket(name).exceeded_until(now);
}

// All spans of one pass overlap, so together they are one span.
uint64_t Limits::exceeded_ns(hrtime_t now) const {
    hrtime_t first = now;
    hrtime_t last = std::numeric_limits<hrtime_t>::min();
    for (const Bucket& each : buckets_) {
        if (!each.lacked) continue;
        first = std::min(first, each.since);
        last = std::max(last, std::min(now, each.ready_at));
    }
    return exceeded_ns_ + static_cast<uint64_t>(std::max(last, first) - first);
}

}  // namespace blkscope::model
