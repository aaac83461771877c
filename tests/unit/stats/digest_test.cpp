// t-digests: counts that add up, and quantiles whose rank is what was asked for.
#include <cmath>
#include <limits>

#include "../../bench/digest/distributions.hpp"
#include "fixture.hpp"
#include "rounds.hpp"

namespace blkscope::stats {

namespace {

BlobPtr digest_of(uint32_t centroids, uint32_t precision = 16,
                  vsd_dtype dtype = VSD_DTYPE_TDGSTCLUST64, vsd_dtype voi = VSD_DTYPE_INT_U64) {
    auto info = stats_tdgst(dtype, centroids, precision);
    return blob_with(voi, {STATS_VSS_MIN(), STATS_VSS_MAX(), stats_vss_tdgst(info)});
}

void feed(const BlobPtr& blob, const std::vector<uint64_t>& values) {
    for (const uint64_t value : values)
        ASSERT_EQ(stats_voi_update_abs_u64(blob.get(), 0, value), 0);
}

double quantile(const BlobPtr& blob, double q) {
    double value = -1;
    EXPECT_EQ(stats_voi_quantile(blob.get(), 0, q, &value), 0);
    return value;
}

double share_below(const BlobPtr& blob, double x) {
    double share = -1;
    EXPECT_EQ(stats_voi_cdf(blob.get(), 0, x, &share), 0);
    return share;
}

const voistatdata_tdgstclust64& tree(const BlobPtr& blob) {
    return stat_of(blob, VS_STYPE_TDGST).data->tdgstclust64;
}

struct Bound {
    uint32_t centroids;
    size_t values;
    double middle;  // the largest error of a rank between .01 and .9
    double at_99;
    double at_999;
};

class StatsDigestRanks : public testing::TestWithParam<Bound> {};

// Narrow integers set the bound of the middle: an answer between two of them misses half a tenth.
TEST_P(StatsDigestRanks, AreNearTheOnesAskedFor) {
    const Bound bound = GetParam();
    for (const Distribution& distribution : distributions()) {
        for (uint64_t seed = 1; seed <= (BLKSCOPE_SANITIZED ? 1 : 3); ++seed) {
            std::vector<uint64_t> values = distribution.draw(bound.values, seed);
            const BlobPtr blob = digest_of(bound.centroids);
            feed(blob, values);
            std::sort(values.begin(), values.end());
            const auto error = [&](double q) { return rank_error(values, quantile(blob, q), q); };
            for (const double q : {0.01, 0.1, 0.25, 0.5, 0.75, 0.9})
                EXPECT_LE(error(q), bound.middle) << distribution.name << " " << q;
            EXPECT_LE(error(0.99), bound.at_99) << distribution.name;
            EXPECT_LE(error(0.999), bound.at_999) << distribution.name;
            EXPECT_EQ(error(0), 0);
            EXPECT_EQ(error(1), 0);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, StatsDigestRanks,
                         testing::Values(Bound{20, 10'000, 0.053, 0.010, 0.0012},
                                         Bound{20, 100'000, 0.052, 0.010, 0.0012},
                                         Bound{100, 100'000, 0.009, 0.0013, 0.001},
                                         Bound{100, 300'000, 0.009, 0.0013, 0.001}));

// The bounds that stats(3) names, of all ten distributions.
class StatsDigestManual : public testing::TestWithParam<Bound> {};

void check_bound(const Bound& bound, const Distribution& distribution, int seed) {
    std::vector<uint64_t> values = distribution.draw(bound.values, static_cast<uint64_t>(seed));
    const BlobPtr blob = digest_of(bound.centroids);
    feed(blob, values);
    std::sort(values.begin(), values.end());
    const auto error = [&](double q) { return rank_error(values, quantile(blob, q), q); };
    const auto where = [&](double q) {
        return std::string(distribution.name) + " " + std::to_string(q) + ", seed " +
               std::to_string(seed);
    };
    for (const double q : {0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95})
        EXPECT_LE(error(q), bound.middle) << where(q);
    EXPECT_LE(error(0.99), bound.at_99) << where(0.99);
    EXPECT_LE(error(0.999), bound.at_999) << where(0.999);
}

TEST_P(StatsDigestManual, NoDistributionMissesMoreThanTheManualSays) {
    const Bound bound = GetParam();
    for (const auto* const list : {&distributions(), &harder_distributions()}) {
        for (const Distribution& distribution : *list) {
            for (int seed = 7; seed < 7 + rounds(1); ++seed) check_bound(bound, distribution, seed);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, StatsDigestManual,
                         testing::Values(Bound{20, 10'000, 0.16, 0.010, 0.0014},
                                         Bound{20, 100'000, 0.16, 0.010, 0.0014},
                                         Bound{100, 10'000, 0.010, 0.005, 0.001},
                                         Bound{100, 100'000, 0.010, 0.005, 0.001}));

// Each form under random values: whatever is merged, nothing is lost, and the order stays.
TEST(StatsDigest, CountsAddUpAndMeansAscend) {
    for (const vsd_dtype dtype : {VSD_DTYPE_TDGSTCLUST32, VSD_DTYPE_TDGSTCLUST64}) {
        for (const uint32_t centroids : {1u, 2u, 3u, 20u, 100u}) {
            const BlobPtr blob = digest_of(centroids, 4, dtype);
            std::mt19937_64 random(20261121);
            for (int i = 0; i < 5000; ++i) {
                ASSERT_EQ(
                    stats_voi_update_abs_u64(blob.get(), 0, random() % 1'000'000 >> random() % 20),
                    0);
                // Validation holds the tree to its laws: order, colours, counts, the free chain.
                if (i % 50 == 0) {
                    ASSERT_EQ(stats_blob_validate(blob.get(), blob->cursz), 0) << i;
                }
            }
            const Stat stat = stat_of(blob, VS_STYPE_TDGST);
            const uint64_t samples = dtype == VSD_DTYPE_TDGSTCLUST32
                                         ? stat.data->tdgstclust32.smplcnt
                                         : stat.data->tdgstclust64.smplcnt;
            EXPECT_EQ(samples, 5000u);
        }
    }
}

TEST(StatsDigest, AFullOneMakesRoomAsMuchAsThePaperSays) {
    for (const uint32_t centroids : {20u, 100u}) {
        const BlobPtr blob = digest_of(centroids);
        uint32_t compressions = 0;
        for (uint64_t i = 0; i < 100'000; ++i) {
            ASSERT_EQ(stats_voi_update_abs_u64(blob.get(), 0, i * 2654435761 % 1'000'003), 0);
            if (tree(blob).compcnt == compressions) continue;
            compressions = tree(blob).compcnt;
            ASSERT_LE(tree(blob).ctdtree.arb_curnodes, centroids == 20 ? 18 : 81);
        }
        EXPECT_GT(compressions, 0u);
    }
}

// The original keeps 16 of these.
TEST(StatsDigest, A32BitOneLosesNothingEither) {
    const BlobPtr blob = digest_of(20, 4, VSD_DTYPE_TDGSTCLUST32);
    for (uint64_t i = 1; i <= 100; ++i) ASSERT_EQ(stats_voi_update_abs_u64(blob.get(), 0, i), 0);
    EXPECT_EQ(stat_of(blob, VS_STYPE_TDGST).data->tdgstclust32.smplcnt, 100u);
    EXPECT_NEAR(quantile(blob, 0.5), 50, 3);
}

TEST(StatsDigest, WhatAMeanCannotHoldIsRefusedAndCountedAsAnError) {
    const BlobPtr narrow = digest_of(20, 4, VSD_DTYPE_TDGSTCLUST32);
    EXPECT_EQ(stats_voi_update_abs_u64(narrow.get(), 0, (1 << 24) - 1), 0);
    EXPECT_EQ(stats_voi_update_abs_u64(narrow.get(), 0, 1 << 24), EOVERFLOW);
    const BlobPtr wide = digest_of(20, 4);
    EXPECT_EQ(stats_voi_update_abs_u64(wide.get(), 0, (UINT64_C(1) << 56) - 1), 0);
    EXPECT_EQ(stats_voi_update_abs_u64(wide.get(), 0, UINT64_C(1) << 56), EOVERFLOW);
    EXPECT_EQ(tree(wide).smplcnt, 1u);
    EXPECT_NE(text_of(wide.get(), SB_STRFMT_JSON).find("\"[5]\":{\"errs\":1"), std::string::npos);
}

TEST(StatsDigest, NegativeValuesAreValues) {
    const BlobPtr blob = digest_of(20, 16, VSD_DTYPE_TDGSTCLUST64, VSD_DTYPE_INT_S64);
    for (int64_t i = -500; i <= 500; ++i) ASSERT_EQ(stats_voi_update_abs_s64(blob.get(), 0, i), 0);
    EXPECT_NEAR(quantile(blob, 0.5), 0, 20);
    EXPECT_EQ(quantile(blob, 0), -500);
    EXPECT_EQ(stats_voi_update_abs_s64(blob.get(), 0, INT64_MIN), EOVERFLOW);
}

TEST(StatsDigest, QNumbersOfAnyPrecisionAreRoundedIntoIt) {
    const BlobPtr blob = digest_of(20, 2, VSD_DTYPE_TDGSTCLUST64, VSD_DTYPE_Q_S32);
    s32q_t value;
    Q_INI(&value, -1, 4, 8);
    ASSERT_EQ(stats_voi_update_abs_sq32(blob.get(), 0, value), 0);
    const Stat digest = stat_of(blob, VS_STYPE_TDGST);
    double mean = 0;
    ASSERT_EQ(stats_tdgst_quantile(digest.data, digest.dtype, digest.size, 0.5, &mean), 0);
    EXPECT_EQ(mean, -1.5);
    EXPECT_EQ(quantile(blob, 0.5), Q_Q2D(value));  // the extremes are exact
}

TEST(StatsDigest, OfOneValueIsThatValueAndOfTwoIsBoth) {
    const BlobPtr blob = digest_of(20);
    double value = 0;
    EXPECT_EQ(stats_voi_quantile(blob.get(), 0, 0.5, &value), ENOENT);
    feed(blob, {7});
    for (const double q : {0.0, 0.5, 1.0}) EXPECT_EQ(quantile(blob, q), 7);
    EXPECT_EQ(share_below(blob, 6), 0);
    EXPECT_EQ(share_below(blob, 7), 1);
    feed(blob, {9});
    EXPECT_EQ(quantile(blob, 0.25), 7);
    EXPECT_EQ(quantile(blob, 0.75), 9);
    EXPECT_EQ(share_below(blob, 7), 0.5);
}

TEST(StatsDigest, OfOneValueManyTimesIsThatValue) {
    const BlobPtr blob = digest_of(20);
    feed(blob, std::vector<uint64_t>(10'000, 4096));
    for (const double q : {0.0, 0.001, 0.5, 0.999, 1.0}) EXPECT_EQ(quantile(blob, q), 4096);
}

TEST(StatsDigest, SharesAreTheInverseOfQuantiles) {
    const BlobPtr blob = digest_of(100);
    feed(blob, distributions()[2].draw(50'000, 1));
    double last = 0;
    for (double q = 0.01; q < 1; q += 0.01) {
        const double value = quantile(blob, q);
        EXPECT_GE(value, last);
        EXPECT_NEAR(share_below(blob, value), q, 0.005);
        last = value;
    }
    EXPECT_EQ(share_below(blob, 1e30), 1);
    EXPECT_EQ(share_below(blob, 0), 0);
}

TEST(StatsDigest, EightShardsMergedAreAsGoodAsOne) {
    std::vector<uint64_t> values = distributions()[1].draw(80'000, 1);
    const BlobPtr all = digest_of(100);
    const Stat to = stat_of(all, VS_STYPE_TDGST);
    for (size_t shard = 0; shard < 8; ++shard) {
        const BlobPtr part =
            digest_of(50 + 10 * static_cast<uint32_t>(shard), shard % 2 == 0 ? 16 : 4);
        feed(part, {values.begin() + static_cast<ptrdiff_t>(shard * 10'000),
                    values.begin() + static_cast<ptrdiff_t>((shard + 1) * 10'000)});
        const Stat from = stat_of(part, VS_STYPE_TDGST);
        ASSERT_EQ(stats_tdgst_merge(to.data, to.dtype, to.size, from.data, from.dtype, from.size),
                  0);
    }
    EXPECT_EQ(tree(all).smplcnt, 80'000u);
    std::sort(values.begin(), values.end());
    for (const double q : {0.01, 0.1, 0.5, 0.9, 0.99, 0.999}) {
        double value = 0;
        ASSERT_EQ(stats_tdgst_quantile(to.data, to.dtype, to.size, q, &value), 0);
        EXPECT_LE(rank_error(values, value, q), 0.02 * std::sqrt(4 * q * (1 - q)) + 0.001) << q;
    }
}

TEST(StatsDigest, RefusesQuestionsThatMakeNoSense) {
    const BlobPtr blob = digest_of(20);
    feed(blob, {1, 2, 3});
    double value = 0;
    EXPECT_EQ(stats_voi_quantile(blob.get(), 0, -0.1, &value), EINVAL);
    EXPECT_EQ(stats_voi_quantile(blob.get(), 0, 1.1, &value), EINVAL);
    EXPECT_EQ(stats_voi_quantile(blob.get(), 0, std::nan(""), &value), EINVAL);
    EXPECT_EQ(stats_voi_quantile(blob.get(), 0, 0.5, nullptr), EINVAL);
    EXPECT_EQ(stats_voi_quantile(blob.get(), 1, 0.5, &value), EINVAL);
    EXPECT_EQ(stats_voi_cdf(blob.get(), 0, std::nan(""), &value), EINVAL);
    const Stat digest = stat_of(blob, VS_STYPE_TDGST);
    EXPECT_EQ(stats_tdgst_quantile(digest.data, digest.dtype, digest.size - 1, 0.5, &value),
              EINVAL);
    EXPECT_EQ(stats_tdgst_quantile(digest.data, VSD_DTYPE_INT_U64, digest.size, 0.5, &value),
              EINVAL);
    EXPECT_EQ(stats_tdgst_cdf(digest.data, digest.dtype, digest.size, 2.5, &value), 0);
    EXPECT_EQ(stats_tdgst_merge(digest.data, digest.dtype, digest.size, digest.data, digest.dtype,
                                digest.size),
              EINVAL);
    const BlobPtr sum = blob_with(VSD_DTYPE_INT_U64, {STATS_VSS_SUM()});
    EXPECT_EQ(stats_voi_quantile(sum.get(), 0, 0.5, &value), EINVAL);
}

TEST(StatsDigest, NeedsCentroidsAndAPrecisionThatThereIs) {
    const auto error = [](uint32_t centroids, uint32_t precision) {
        auto info = stats_tdgst(VSD_DTYPE_TDGSTCLUST64, centroids, precision);
        return add(new_template(), 0, VSD_DTYPE_INT_U64, {stats_vss_tdgst(info)});
    };
    EXPECT_EQ(error(0, 4), EINVAL);
    EXPECT_EQ(error(20, 0), EINVAL);
    EXPECT_EQ(error(20, 65), EINVAL);
    EXPECT_EQ(error(3000, 4), EFBIG);
    EXPECT_EQ(error(UINT32_MAX, 4), EFBIG);
    EXPECT_EQ(error(1, 48), 0);
}

}  // namespace

}  // namespace blkscope::stats
