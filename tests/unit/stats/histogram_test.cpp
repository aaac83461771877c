#include <algorithm>
#include <random>

#include "fixture.hpp"

namespace blkscope::stats {

namespace {

constexpr uint32_t lower_end = VSD_HIST_LBOUND_INF;
constexpr uint32_t upper_end = VSD_HIST_UBOUND_INF;
constexpr uint32_t both_ends = lower_end | upper_end;

using Bounds = std::vector<int64_t>;

// The lower bounds of a histogram of 64-bit values.
Bounds bounds_of(vss_hlpr_info info, vsd_dtype voi = VSD_DTYPE_INT_S64) {
    const BlobPtr blob = blob_with(voi, {stats_vss_hist(info)});
    const Stat hist = stat_of(blob, VS_STYPE_HIST);
    Bounds bounds;
    for (size_t i = 0; i < HIST_VSDSZ2NBKTS(crhist64, hist.size); ++i)
        bounds.push_back(hist.data->crhist64.bkts[i].lb.int64.s64);
    return bounds;
}

int error_of(vss_hlpr_info info, vsd_dtype voi = VSD_DTYPE_INT_S64) {
    return add(new_template(), 0, voi, {stats_vss_hist(info)});
}

constexpr auto lin = [](int64_t lb, int64_t ub, uint64_t step, uint32_t flags = 0) {
    return stats_hist_lin(VSD_DTYPE_CRHIST64, static_cast<uint64_t>(lb), static_cast<uint64_t>(ub),
                          step, flags);
};
constexpr auto exponential = [](uint64_t lb, uint64_t ub, uint64_t base, uint64_t exponent,
                                uint32_t flags = 0) {
    return stats_hist_exp(VSD_DTYPE_CRHIST64, lb, ub, base, exponent, flags);
};
constexpr auto linexp = [](uint64_t lb, uint64_t ub, uint64_t steps, uint64_t base) {
    return stats_hist_linexp(VSD_DTYPE_CRHIST64, lb, ub, steps, base);
};

TEST(StatsHistogram, BucketsAreWhereFreeBsdPutsThem) {
    EXPECT_EQ(bounds_of(lin(0, 100, 10)), (Bounds{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}));
    EXPECT_EQ(bounds_of(lin(0, 95, 10)), (Bounds{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
    EXPECT_EQ(bounds_of(lin(0, 9, 1, upper_end)), (Bounds{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    EXPECT_EQ(bounds_of(lin(-20, 20, 10, both_ends)), (Bounds{INT64_MIN, -20, -10, 0, 10, 20, 30}));
    EXPECT_EQ(bounds_of(lin(10, 0, 1)), (Bounds{10}));
    EXPECT_EQ(bounds_of(exponential(0, 100, 2, 0)), (Bounds{0, 1, 3, 7, 15, 31, 63}));
    EXPECT_EQ(bounds_of(exponential(1, 1000, 10, 1, lower_end), VSD_DTYPE_INT_U64),
              (Bounds{0, 1, 11, 111}));
    EXPECT_EQ(bounds_of(linexp(0, 64, 4, 2)),
              (Bounds{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}));
    EXPECT_EQ(bounds_of(linexp(0, 1000, 10, 10)),
              (Bounds{0,  1,  2,  3,  4,   5,   6,   7,   8,   9,   10,  20,  30,  40,  50,
                      60, 70, 80, 90, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}));
    EXPECT_EQ(bounds_of(linexp(1, 1024, 5, 10)),
              (Bounds{1, 3, 5, 7, 9, 11, 31, 51, 71, 91, 111, 311, 511, 711, 911}));
}

// Some of these never came back from the original, or came back with memory that is not theirs.
TEST(StatsHistogram, RefusesBucketsThatCannotBe) {
    const auto lin32 = stats_hist_lin(VSD_DTYPE_CRHIST32, 0, UINT32_MAX, 1u << 28);
    EXPECT_EQ(error_of(lin32, VSD_DTYPE_INT_U32), EINVAL);
    EXPECT_EQ(error_of(stats_hist_lin(VSD_DTYPE_CRHIST32, 0, UINT32_MAX, 1), VSD_DTYPE_INT_U32),
              EFBIG);
    EXPECT_EQ(error_of(linexp(0, UINT64_MAX, 4, 2), VSD_DTYPE_INT_U64), EINVAL);
    EXPECT_EQ(error_of(exponential(0, UINT64_MAX, 2, 0), VSD_DTYPE_INT_U64), EINVAL);
    EXPECT_EQ(error_of(lin(0, 10, 0)), EINVAL);
    EXPECT_EQ(error_of(exponential(0, 10, 0, 1)), EINVAL);
    EXPECT_EQ(error_of(linexp(0, 10, 0, 2)), EINVAL);
    EXPECT_EQ(error_of(linexp(0, 10, 4, 1)), EINVAL);
    EXPECT_EQ(error_of(linexp(0, 10, 4, 0)), EINVAL);
    const stats_hist_bkt descending[] = {CRBKT(2), CRBKT(1)};
    EXPECT_EQ(error_of(stats_hist_usr(VSD_DTYPE_CRHIST64, descending)), EINVAL);
    const stats_hist_bkt backwards[] = {DRBKT(2, 1)};
    EXPECT_EQ(error_of(stats_hist_usr(VSD_DTYPE_DRHIST64, backwards)), EINVAL);
    EXPECT_EQ(error_of(stats_hist_usr(VSD_DTYPE_DVHIST64, descending, upper_end)), EINVAL);
    vss_hlpr_info none = stats_hist_usr(VSD_DTYPE_CRHIST64, descending);
    none.hist.usr.bkts = nullptr;
    EXPECT_EQ(error_of(none), EINVAL);
}

struct Counts {
    uint64_t oob;
    std::vector<uint64_t> buckets;

    bool operator==(const Counts&) const = default;
};

Counts counted(const BlobPtr& blob) {
    const Stat hist = stat_of(blob, VS_STYPE_HIST);
    Counts counts{hist.data->crhist64.oob, {}};
    if (hist.dtype == VSD_DTYPE_DRHIST64)
        for (size_t i = 0; i < HIST_VSDSZ2NBKTS(drhist64, hist.size); ++i)
            counts.buckets.push_back(hist.data->drhist64.bkts[i].cnt);
    else
        for (size_t i = 0; i < HIST_VSDSZ2NBKTS(crhist64, hist.size); ++i)
            counts.buckets.push_back(hist.data->crhist64.bkts[i].cnt);
    return counts;
}

Counts counts_of(vss_hlpr_info info, const std::vector<int64_t>& values) {
    const BlobPtr blob = blob_with(VSD_DTYPE_INT_S64, {stats_vss_hist(info)});
    for (const int64_t value : values) EXPECT_EQ(stats_voi_update_abs_s64(blob.get(), 0, value), 0);
    return counted(blob);
}

TEST(StatsHistogram, AContinuousRangeEndsWhereTheNextBeginsAndTheLastNowhere) {
    EXPECT_EQ(counts_of(lin(0, 20, 10), {-1, 0, 9, 10, 19, 20, 29, 30, INT64_MAX}),
              (Counts{1, {2, 2, 4}}));
    EXPECT_EQ(counts_of(lin(0, 20, 10, lower_end), {INT64_MIN, -1, 0}), (Counts{0, {2, 1, 0, 0}}));
}

TEST(StatsHistogram, OfOverlappingRangesTheLastOneCounts) {
    const stats_hist_bkt ranges[] = {DRBKT(0, 10), DRBKT(5, 15), DRBKT(20, 30)};
    EXPECT_EQ(
        counts_of(stats_hist_usr(VSD_DTYPE_DRHIST64, ranges), {0, 4, 5, 9, 14, 15, 20, 30, -1}),
        (Counts{3, {2, 3, 1}}));
}

TEST(StatsHistogram, AnOpenRangeHasAllButTheLargestValue) {
    const stats_hist_bkt ranges[] = {DRBKT(0, 10)};
    EXPECT_EQ(counts_of(stats_hist_usr(VSD_DTYPE_DRHIST64, ranges, both_ends),
                        {INT64_MIN, -1, 0, 10, INT64_MAX - 1, INT64_MAX}),
              (Counts{1, {2, 1, 2}}));
}

TEST(StatsHistogram, ADiscreteValueIsThatValue) {
    const stats_hist_bkt values[] = {DVBKT(512), DVBKT(4096)};
    EXPECT_EQ(counts_of(stats_hist_usr(VSD_DTYPE_DVHIST64, values), {512, 4096, 4096, 4095}),
              (Counts{1, {1, 2}}));
}

TEST(StatsHistogram, ContinuousRangesThatAreGivenMayBeOpenBelowAndAreAbove) {
    const stats_hist_bkt ranges[] = {CRBKT(1), CRBKT(10)};
    EXPECT_EQ(bounds_of(stats_hist_usr(VSD_DTYPE_CRHIST64, ranges, both_ends)),
              (Bounds{INT64_MIN, 1, 10}));
}

TEST(StatsHistogram, Counters32BitsWideWrapAndLeaveTheirNeighboursAlone) {
    auto info = stats_hist_lin(VSD_DTYPE_CRHIST32, 0, 10, 10);
    const BlobPtr blob = blob_with(VSD_DTYPE_INT_U32, {stats_vss_hist(info)});
    auto& hist = stat_of(blob, VS_STYPE_HIST).data->crhist32;
    hist.bkts[0].cnt = UINT32_MAX;
    EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 0, 5), 0);
    EXPECT_EQ(hist.bkts[0].cnt, 0u);
    EXPECT_EQ(hist.bkts[1].lb.int32.u32, 10u);
    EXPECT_EQ(hist.bkts[1].cnt, 0u);
}

TEST(StatsHistogram, BucketsOfQNumbersAreQNumbers) {
    s32q_t zero;
    s32q_t two;
    s32q_t value;
    Q_INI(&zero, 0, 0, 8);
    Q_INI(&two, 2, 0, 8);
    Q_INI(&value, 1, 75, 8);
    auto info = stats_hist_lin(VSD_DTYPE_CRHIST64, static_cast<uint32_t>(zero),
                               static_cast<uint32_t>(two), 1);
    const BlobPtr blob = blob_with(VSD_DTYPE_Q_S32, {stats_vss_hist(info)});
    EXPECT_EQ(stats_voi_update_abs_sq32(blob.get(), 0, value), 0);
    EXPECT_EQ(counted(blob), (Counts{0, {0, 1, 0}}));
    auto steps = stats_hist_linexp(VSD_DTYPE_CRHIST64, static_cast<uint32_t>(zero),
                                   static_cast<uint32_t>(two), 4, 2);
    EXPECT_EQ(counted(blob_with(VSD_DTYPE_Q_S32, {stats_vss_hist(steps)})).buckets.size(), 3u);
}

// A Q number of 64 bits, with 8 bits of fraction, from a number of sixteenths.
uint64_t q64(uint64_t sixteenths) {
    s64q_t q = Q_CTRLINI(8);
    Q_SIFVAL(q, static_cast<int64_t>(sixteenths * 16));
    return static_cast<uint64_t>(q);
}

// Steps are whole numbers: a quarter of 10 is 2.
TEST(StatsHistogram, StepsOfLinexpAreWholeForQNumbersToo) {
    Bounds expected;
    for (const uint64_t whole : {1U, 3U, 5U, 7U, 9U, 11U, 36U, 61U, 86U, 111U})
        expected.push_back(static_cast<int64_t>(q64(whole * 16 + 8)));
    EXPECT_EQ(bounds_of(stats_hist_linexp(VSD_DTYPE_CRHIST64, q64(24), q64(130 * 16), 4, 10),
                        VSD_DTYPE_Q_S64),
              expected);
}

// FreeBSD's limits of Q numbers are not shifted past the control bits.
TEST(StatsHistogram, AnOpenRangeOfQNumbersEndsWhereFreeBsdsDoes) {
    EXPECT_EQ(bounds_of(stats_hist_lin(VSD_DTYPE_CRHIST64, q64(0), q64(16), 1, both_ends),
                        VSD_DTYPE_Q_S64),
              (Bounds{static_cast<int64_t>(0xf000000000000003), static_cast<int64_t>(q64(0)),
                      static_cast<int64_t>(q64(16)), static_cast<int64_t>(q64(32))}));
    auto ranges = stats_hist_lin(VSD_DTYPE_DRHIST64, q64(0), q64(0), 1, upper_end);
    const BlobPtr blob = blob_with(VSD_DTYPE_Q_S64, {stats_vss_hist(ranges)});
    EXPECT_EQ(stat_of(blob, VS_STYPE_HIST).data->drhist64.bkts[1].ub.int64.u64,
              0x0ffffffffffffffbu);
}

// A range that begins above FreeBSD's limit ends at the true one.
TEST(StatsHistogram, AnOpenRangeOfQNumbersThatBeginsBeyondFreeBsdsEndIsOpenStill) {
    s32q_t large = Q_CTRLINI(8);
    Q_SIFVAL(large, 1 << 27);
    auto ranges = stats_hist_lin(VSD_DTYPE_DRHIST64, static_cast<uint32_t>(large),
                                 static_cast<uint32_t>(large), 1, upper_end);
    const BlobPtr blob = blob_with(VSD_DTYPE_Q_S32, {stats_vss_hist(ranges)});
    s32q_t most = Q_CTRLINI(8);
    Q_SIFVAL(most, Q_IFMAXVAL(most));
    EXPECT_EQ(stat_of(blob, VS_STYPE_HIST).data->drhist64.bkts[1].ub.q32.sq32, most);
}

// The search against the plain reading of what a bucket is.
TEST(StatsHistogram, EveryValueIsCountedInTheLastBucketThatBeginsBelowIt) {
    std::mt19937_64 random(20261121);
    for (int round = 0; round < 50; ++round) {
        auto info =
            linexp(random() % 100, 1 + random() % 1'000'000, 1 + random() % 8, 2 + random() % 9);
        const BlobPtr blob = blob_with(VSD_DTYPE_INT_S64, {stats_vss_hist(info)});
        const Bounds bounds = bounds_of(info);
        Counts expected{0, std::vector<uint64_t>(bounds.size())};
        for (int i = 0; i < 300; ++i) {
            const auto value = static_cast<int64_t>(random() % 2'000'000 >> random() % 20);
            ASSERT_EQ(stats_voi_update_abs_s64(blob.get(), 0, value), 0);
            size_t bucket = bounds.size();
            while (bucket > 0 && value < bounds[bucket - 1]) --bucket;
            ++(bucket == 0 ? expected.oob : expected.buckets[bucket - 1]);
        }
        ASSERT_EQ(counted(blob), expected);
    }
}

}  // namespace

}  // namespace blkscope::stats
