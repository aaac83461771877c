#include <cstring>

#include "fixture.hpp"

namespace blkscope::stats {

namespace {

std::vector<voistatspec> extremes_and_sum() {
    return {STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN()};
}

int32_t fetch(const BlobPtr& blob, voi_stype stype) {
    int32_t value = 0;
    EXPECT_EQ(stats_voistat_fetch_s32(blob.get(), 0, stype, &value), 0);
    return value;
}

TEST(StatsUpdate, RelativeValuesAddToTheOneBefore) {
    const BlobPtr blob = blob_with(VSD_DTYPE_INT_S32, extremes_and_sum(), SB_VOI_RELUPDATE);
    EXPECT_EQ(stats_voi_update_abs_s32(blob.get(), 0, 5), 0);
    EXPECT_EQ(stats_voi_update_rel_s32(blob.get(), 0, 10), 0);
    EXPECT_EQ(stats_voi_update_rel_s32(blob.get(), 0, 100), 0);
    EXPECT_EQ(fetch(blob, VS_STYPE_SUM), 135);
    EXPECT_EQ(fetch(blob, VS_STYPE_MAX), 115);
    EXPECT_EQ(fetch(blob, VS_STYPE_MIN), 5);
}

TEST(StatsUpdate, WithoutABlobIsNothingToDo) {
    EXPECT_EQ(stats_voi_update_abs_u64(nullptr, 0, 1), 0);
    EXPECT_EQ(stats_voi_update_rel_sq32(nullptr, -5, 1), 0);
}

TEST(StatsUpdate, RefusesWhatTheBlobDoesNotHave) {
    const BlobPtr blob = blob_with(VSD_DTYPE_INT_S32, extremes_and_sum());
    EXPECT_EQ(stats_voi_update_abs_s32(blob.get(), -1, 1), EINVAL);
    EXPECT_EQ(stats_voi_update_abs_s32(blob.get(), INT32_MIN, 1), EINVAL);
    EXPECT_EQ(stats_voi_update_abs_s32(blob.get(), 1, 1), EINVAL);
    EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 0, 1), EINVAL);
    EXPECT_EQ(stats_voi_update_rel_s32(blob.get(), 0, 1), EINVAL);
    blob->abi = 2;
    EXPECT_EQ(stats_voi_update_abs_s32(blob.get(), 0, 1), EINVAL);
}

TEST(StatsUpdate, SumsOfIntegersWrap) {
    const BlobPtr blob = blob_with(VSD_DTYPE_INT_S32, extremes_and_sum());
    EXPECT_EQ(stats_voi_update_abs_s32(blob.get(), 0, INT32_MAX), 0);
    EXPECT_EQ(stats_voi_update_abs_s32(blob.get(), 0, 2), 0);
    EXPECT_EQ(fetch(blob, VS_STYPE_SUM), INT32_MIN + 1);
}

TEST(StatsUpdate, AnExtremeFedOnlyTheWorstValueWasNeverUpdated) {
    const BlobPtr blob = blob_with(VSD_DTYPE_INT_U32, {STATS_VSS_MAX()});
    EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 0, 0), 0);
    EXPECT_NE(text_of(blob.get(), SB_STRFMT_JSON).find("\"[2]\":null"), std::string::npos);
    EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 0, 1), 0);
    EXPECT_NE(text_of(blob.get(), SB_STRFMT_JSON).find("\"[2]\":{\"errs\":0,\"val\":1}"),
              std::string::npos);
}

template <class T>
struct Typed {
    vsd_dtype dtype;
    int (*abs)(statsblob*, int32_t, T);
    int (*rel)(statsblob*, int32_t, T);
};

template <class T>
void feeds(Typed<T> type) {
    const BlobPtr blob = blob_with(type.dtype, extremes_and_sum(), SB_VOI_RELUPDATE);
    EXPECT_EQ(type.abs(blob.get(), 0, 20), 0);
    EXPECT_EQ(type.rel(blob.get(), 0, 22), 0);
    const Stat sum = stat_of(blob, VS_STYPE_SUM);
    T value;
    std::memcpy(&value, sum.data, sizeof value);
    EXPECT_EQ(value, T{62});
    EXPECT_EQ(sum.size, sizeof value);
    EXPECT_EQ(sum.dtype, type.dtype);
}

TEST(StatsUpdate, TakesEveryTypeOfInteger) {
    feeds<int32_t>({VSD_DTYPE_INT_S32, stats_voi_update_abs_s32, stats_voi_update_rel_s32});
    feeds<uint32_t>({VSD_DTYPE_INT_U32, stats_voi_update_abs_u32, stats_voi_update_rel_u32});
    feeds<int64_t>({VSD_DTYPE_INT_S64, stats_voi_update_abs_s64, stats_voi_update_rel_s64});
    feeds<uint64_t>({VSD_DTYPE_INT_U64, stats_voi_update_abs_u64, stats_voi_update_rel_u64});
    feeds<long>({VSD_DTYPE_INT_SLONG, stats_voi_update_abs_slong, stats_voi_update_rel_slong});
    feeds<unsigned long>(
        {VSD_DTYPE_INT_ULONG, stats_voi_update_abs_ulong, stats_voi_update_rel_ulong});
}

template <class Q>
void feeds_q(Typed<Q> type) {
    const BlobPtr blob = blob_with(type.dtype, extremes_and_sum(), SB_VOI_RELUPDATE);
    Q one;
    Q quarter;
    Q_INI(&one, 1, 0, 8);
    Q_INI(&quarter, 0, 25, 8);
    EXPECT_EQ(type.abs(blob.get(), 0, one), 0);
    EXPECT_EQ(type.rel(blob.get(), 0, quarter), 0);
    const auto value = [&](voi_stype stype) {
        Q q;
        std::memcpy(&q, stat_of(blob, stype).data, sizeof q);
        return Q_Q2D(q);
    };
    EXPECT_EQ(value(VS_STYPE_SUM), 2.25);
    EXPECT_EQ(value(VS_STYPE_MAX), 1.25);
    EXPECT_EQ(value(VS_STYPE_MIN), 1.0);
}

TEST(StatsUpdate, TakesEveryTypeOfQNumber) {
    feeds_q<s32q_t>({VSD_DTYPE_Q_S32, stats_voi_update_abs_sq32, stats_voi_update_rel_sq32});
    feeds_q<u32q_t>({VSD_DTYPE_Q_U32, stats_voi_update_abs_uq32, stats_voi_update_rel_uq32});
    feeds_q<s64q_t>({VSD_DTYPE_Q_S64, stats_voi_update_abs_sq64, stats_voi_update_rel_sq64});
    feeds_q<u64q_t>({VSD_DTYPE_Q_U64, stats_voi_update_abs_uq64, stats_voi_update_rel_uq64});
}

TEST(StatsUpdate, CountsErrorsUpTo255AndKeepsTheOtherStatisticsGoing) {
    const BlobPtr blob = blob_with(VSD_DTYPE_Q_S32, extremes_and_sum());
    s32q_t finer;
    Q_INI(&finer, 1, 5, 16);
    for (int i = 0; i < 300; ++i)
        ASSERT_EQ(stats_voi_update_abs_sq32(blob.get(), 0, finer), ERANGE);
    EXPECT_NE(
        text_of(blob.get(), SB_STRFMT_FREEFORM).find("stype=SUM, errs=255\n\t\t\tvoistatdata: 0.0"),
        std::string::npos);
    s32q_t max;
    std::memcpy(&max, stat_of(blob, VS_STYPE_MAX).data, sizeof max);
    EXPECT_EQ(Q_Q2D(max), 1.5);
}

TEST(StatsUpdate, SumsOfQNumbersHaveThePrecisionThatWasAskedFor) {
    auto prec = stats_numeric_prec(16);
    const BlobPtr blob = blob_with(VSD_DTYPE_Q_S64, {stats_vss_numeric(VS_STYPE_SUM, &prec)});
    s64q_t value;
    Q_INI(&value, 1, 5, 16);
    EXPECT_EQ(stats_voi_update_abs_sq64(blob.get(), 0, value), 0);
    s64q_t sum;
    std::memcpy(&sum, stat_of(blob, VS_STYPE_SUM).data, sizeof sum);
    EXPECT_EQ(sum, value);
}

// FreeBSD's MIN of Q numbers begins at an eighth of the largest number, and misses what is above. A
// reset sets the true limit.
TEST(StatsUpdate, AnExtremeOfQNumbersBeginsWhereFreeBsdsDoes) {
    const BlobPtr blob = blob_with(VSD_DTYPE_Q_S32, {STATS_VSS_MIN(), STATS_VSS_MAX()});
    const auto raw = [&](voi_stype stype) {
        uint32_t bits = 0;
        std::memcpy(&bits, stat_of(blob, stype).data, sizeof bits);
        return bits;
    };
    EXPECT_EQ(raw(VS_STYPE_MIN), 0x0ffffffbu);
    EXPECT_EQ(raw(VS_STYPE_MAX), 0xf0000003u);
    s32q_t large;
    Q_INI(&large, 200'000, 0, 8);
    EXPECT_EQ(stats_voi_update_abs_sq32(blob.get(), 0, large), 0);
    EXPECT_EQ(raw(VS_STYPE_MIN), 0x0ffffffbu);
    EXPECT_EQ(raw(VS_STYPE_MAX), static_cast<uint32_t>(large));
    statsblob* copy = nullptr;
    ASSERT_EQ(stats_blob_snapshot(&copy, 0, blob.get(), SB_CLONE_ALLOCDST | SB_CLONE_RSTSRC), 0);
    stats_blob_destroy(copy);
    EXPECT_EQ(stats_voi_update_abs_sq32(blob.get(), 0, large), 0);
    EXPECT_EQ(raw(VS_STYPE_MIN), static_cast<uint32_t>(large));
}

TEST(StatsFetch, SaysWhatIsNotThere) {
    const int tpl = new_template();
    ASSERT_EQ(add(tpl, 1, VSD_DTYPE_INT_U32, {STATS_VSS_MAX()}), 0);
    const BlobPtr blob = blob_of(tpl);
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    EXPECT_EQ(stats_voistat_fetch_u32(blob.get(), 0, VS_STYPE_MAX, &u32), EINVAL);
    EXPECT_EQ(stats_voistat_fetch_u32(blob.get(), -1, VS_STYPE_MAX, &u32), EINVAL);
    EXPECT_EQ(stats_voistat_fetch_u32(blob.get(), 1, VS_STYPE_MIN, &u32), EINVAL);
    EXPECT_EQ(stats_voistat_fetch_u32(nullptr, 1, VS_STYPE_MAX, &u32), EINVAL);
    EXPECT_EQ(stats_voistat_fetch_u32(blob.get(), 1, VS_STYPE_SUM, &u32), EFTYPE);
    EXPECT_EQ(stats_voistat_fetch_u64(blob.get(), 1, VS_STYPE_MAX, &u64), EFTYPE);
    EXPECT_EQ(stats_voistat_fetch_dptr(blob.get(), 1, VS_STYPE_MAX, nullptr, nullptr, nullptr),
              EINVAL);
    voistatdata* vacant = nullptr;
    EXPECT_EQ(stats_voistat_fetch_dptr(blob.get(), 1, VS_STYPE_SUM, nullptr, &vacant, nullptr), 0);
    EXPECT_EQ(static_cast<void*>(vacant), static_cast<void*>(blob.get()));
}

}  // namespace

}  // namespace blkscope::stats
