// Figures of a histogram: percentiles, and the difference of two readings.
//
//     counts        0    5    20   70   5         N = 100
//     cumulative    0    5    25   95   100
//                                  ^
//                                  p50: the first bucket at which half of the values are covered
//
// A bucket has bounds, not values, so a percentile is an interval. Intervals of two readings are
// not subtracted. The counts are subtracted, and the percentile is taken from the result.
//
// Units:   counts are numbers of values; bounds have the unit of the recorded values.
// Threads: pure functions of their arguments.
// Errors:  nothing (std::nullopt) for a histogram without values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace blkscope::kstat2 {

using Counts = std::span<const uint64_t>;

/// A share of the values in millionths, so that p99.99 is exact. In doubles, rounding may make 0.99
/// * 100 need the hundredth value.
using PerMillion = uint32_t;
inline constexpr PerMillion whole = 1'000'000;
inline constexpr PerMillion p50 = 500'000;
inline constexpr PerMillion p90 = 900'000;
inline constexpr PerMillion p95 = 950'000;
inline constexpr PerMillion p99 = 990'000;
inline constexpr PerMillion p999 = 999'000;
inline constexpr PerMillion p9999 = 999'900;

/// The number of all values.
inline uint64_t total(Counts counts) {
    uint64_t sum = 0;
    for (const uint64_t count : counts) sum += count;
    return sum;
}

/// The rank, from 1, of the value that covers the share `p` (up to `whole`) of `count` values. The
/// rank is the product rounded up, but at least 1; it is 0 if there are no values.
inline uint64_t rank_of(PerMillion p, uint64_t count) {
    __extension__ using Wide = unsigned __int128;
    const auto product = Wide{count} * std::min(p, whole);
    const auto rank = static_cast<uint64_t>((product + whole - 1) / whole);
    return std::max(rank, std::min<uint64_t>(count, 1));
}

/// The smallest bucket that covers at least the share `p` of all values, with the buckets before
/// it.
inline std::optional<size_t> percentile_bucket(Counts counts, PerMillion p) {
    const uint64_t rank = rank_of(p, total(counts));
    if (rank == 0) return std::nullopt;
    uint64_t covered = 0;
    size_t bucket = 0;
    while ((covered += counts[bucket]) < rank) ++bucket;
    return bucket;
}

/// The range of a bucket's values, both ends included.
struct Bracket {
    uint64_t lower;
    uint64_t upper;
    bool operator==(const Bracket&) const = default;
};

/// The bracket of a bucket, from its lower bound and that of the next bucket. `lower` is a function
/// from an index to a bound. `lower` is not called with `bucket_count`, because the last bucket has
/// no end.
template <class Lower>
Bracket bracket(Lower&& lower, size_t bucket, size_t bucket_count) {
    const uint64_t begin = lower(bucket);
    if (bucket + 1 >= bucket_count) return {begin, std::numeric_limits<uint64_t>::max()};
    const uint64_t next = lower(bucket + 1);
    // A bucket without possible values begins where its neighbour begins; its bracket is one value.
    return {begin, next > begin ? next - 1 : begin};
}

/// The bracket of the percentile. `bucket_count` is the shape's number of buckets, which may exceed
/// the number of published counts.
template <class Lower>
std::optional<Bracket> percentile(Counts counts, PerMillion p, Lower&& lower, size_t bucket_count) {
    const auto bucket = percentile_bucket(counts, p);
    if (!bucket) return std::nullopt;
    return bracket(lower, *bucket, bucket_count);
}

/// The counts added between two readings of one histogram. Counts only grow, and their number may
/// grow too. If a count shrank, the histogram is a new one, and all its counts were added since.
inline std::vector<uint64_t> difference(Counts older, Counts newer) {
    std::vector<uint64_t> counts(newer.begin(), newer.end());
    if (older.size() > newer.size()) return counts;
    for (size_t i = 0; i < older.size(); ++i) {
        if (older[i] > newer[i]) return {newer.begin(), newer.end()};
        counts[i] -= older[i];
    }
    return counts;
}

}  // namespace blkscope::kstat2
