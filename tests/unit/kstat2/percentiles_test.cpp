#include "kstat/histogram/percentiles.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace blkscope::kstat2 {
namespace {

// Buckets as in a LOG2 histogram.
uint64_t log2_lower(size_t bucket) {
    return bucket == 0 ? 0 : uint64_t{1} << (bucket - 1);
}
constexpr size_t log2_count = 65;

TEST(Percentiles, TheBucketIsTheFirstThatCoversTheShare) {
    const std::vector<uint64_t> counts{0, 5, 20, 70, 5};
    EXPECT_EQ(percentile_bucket(counts, 10'000), 1u);
    EXPECT_EQ(percentile_bucket(counts, 50'000), 1u);
    EXPECT_EQ(percentile_bucket(counts, 50'001), 2u);
    EXPECT_EQ(percentile_bucket(counts, p50), 3u);
    EXPECT_EQ(percentile_bucket(counts, p95), 3u);
    EXPECT_EQ(percentile_bucket(counts, p99), 4u);
    EXPECT_EQ(percentile_bucket(counts, whole), 4u);
}

TEST(Percentiles, ThereIsNoneOfNothing) {
    const std::vector<uint64_t> counts(3);
    EXPECT_EQ(percentile_bucket(counts, p50), std::nullopt);
    EXPECT_EQ(percentile_bucket({}, p50), std::nullopt);
    EXPECT_EQ(percentile({}, p50, log2_lower, log2_count), std::nullopt);
}

TEST(Percentiles, TheRankIsExactWhereDoublesAreNot) {
    EXPECT_EQ(rank_of(p99, 100), 99u);
    EXPECT_EQ(rank_of(290'000, 100), 29u);  // 0.29 * 100 is 28.999999999999996
    EXPECT_EQ(rank_of(p9999, 10'000), 9'999u);
    EXPECT_EQ(rank_of(p99, 101), 100u);
    EXPECT_EQ(rank_of(0, 7), 1u);
    EXPECT_EQ(rank_of(p50, 0), 0u);
    EXPECT_EQ(rank_of(whole, UINT64_MAX), UINT64_MAX);
}

TEST(Percentiles, ABracketHasBothItsEnds) {
    EXPECT_EQ(bracket(log2_lower, 0, log2_count), (Bracket{0, 0}));
    EXPECT_EQ(bracket(log2_lower, 4, log2_count), (Bracket{8, 15}));
    EXPECT_EQ(bracket(log2_lower, 64, log2_count), (Bracket{uint64_t{1} << 63, UINT64_MAX}));
}

// Recorded one by one, the percentile's bracket holds the value of that rank in the sorted list.
TEST(Percentiles, TheBracketHoldsTheValueOfThatRank) {
    std::mt19937_64 random(20260721);
    std::vector<uint64_t> values(999);
    std::vector<uint64_t> counts(log2_count);
    for (uint64_t& value : values) {
        value = random() >> (random() % 64);
        ++counts[static_cast<size_t>(std::bit_width(value))];
    }
    std::sort(values.begin(), values.end());
    for (PerMillion p = 1; p <= whole; p += 997) {
        const uint64_t value = values[rank_of(p, values.size()) - 1];
        const auto in = percentile(counts, p, log2_lower, log2_count);
        ASSERT_TRUE(in);
        EXPECT_LE(in->lower, value);
        EXPECT_GE(in->upper, value);
    }
}

TEST(Percentiles, TheTotalIsTheNumberOfAllValues) {
    EXPECT_EQ(total(std::vector<uint64_t>{1, 0, 4}), 5u);
    EXPECT_EQ(total({}), 0u);
}

TEST(Percentiles, TheDifferenceIsWhatCameBetween) {
    const std::vector<uint64_t> older{1, 2};
    const std::vector<uint64_t> newer{1, 5, 7};
    EXPECT_EQ(difference(older, newer), (std::vector<uint64_t>{0, 3, 7}));
    EXPECT_EQ(difference({}, newer), newer);
}

TEST(Percentiles, AHistogramThatBeganAnewIsAllNew) {
    const std::vector<uint64_t> older{9, 2, 4};
    const std::vector<uint64_t> restarted{10, 1, 5};
    const std::vector<uint64_t> shorter{10, 3};
    EXPECT_EQ(difference(older, restarted), restarted);
    EXPECT_EQ(difference(older, shorter), shorter);
}

}  // namespace
}  // namespace blkscope::kstat2
