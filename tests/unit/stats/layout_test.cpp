// Blobs byte by byte: what FreeBSD's programs and ours must agree about.

#include "stats/layout.hpp"

#include <algorithm>
#include <cstring>

#include "fixture.hpp"

namespace blkscope::stats {

namespace {

BlobPtr example() {
    return blob_of(example_template());
}

TEST(StatsLayout, TheManualsExampleIsThereToTheByte) {
    const BlobPtr owner = example();
    auto* const blob = reinterpret_cast<Blob*>(owner.get());
    EXPECT_EQ(blob->abi, 1);
    EXPECT_EQ(blob->endian, SB_LE);
    EXPECT_EQ(blob->cursz, 136);
    EXPECT_EQ(blob->maxsz, 136);
    EXPECT_EQ(blob->stats_off, 56);
    EXPECT_EQ(blob->statsdata_off, 112);
    EXPECT_EQ(blob->created, blob->lastrst);
    const Voi voi0{0, VSD_DTYPE_INT_S64, 3, 80, 1};
    const Voi voi1{-1, 0, -1, 0, 0};
    const Voi voi2{2, VSD_DTYPE_INT_U32, 2, 56, 0};
    EXPECT_EQ(std::memcmp(&vois(blob)[0], &voi0, 8), 0);
    EXPECT_EQ(std::memcmp(&vois(blob)[1], &voi1, 8), 0);
    EXPECT_EQ(std::memcmp(&vois(blob)[2], &voi2, 8), 0);
    const VoiStat stats[] = {{-1, 0, 0, 0, 0, 0},
                             {VS_STYPE_SUM, VSD_DTYPE_INT_U32, 112, 4, 0, 0},
                             {VS_STYPE_MAX, VSD_DTYPE_INT_U32, 116, 4, 0, 0},
                             {VS_STYPE_VOISTATE, VSD_DTYPE_VOISTATE, 120, 8, 0, 0},
                             {-1, 0, 0, 0, 0, 0},
                             {-1, 0, 0, 0, 0, 0},
                             {VS_STYPE_MIN, VSD_DTYPE_INT_S64, 128, 8, 0, 0}};
    EXPECT_EQ(std::memcmp(at<VoiStat>(blob, 56), stats, sizeof stats), 0);
    EXPECT_EQ(load<uint64_t>(at<std::byte>(blob, 112)), 0u);
    EXPECT_EQ(load<int64_t>(at<std::byte>(blob, 128)), INT64_MAX);
}

TEST(StatsLayout, ScriptedUpdatesChangeTheBytesThatTheyShould) {
    const BlobPtr owner = example();
    const auto* const bytes = reinterpret_cast<const uint8_t*>(owner.get());
    std::vector<uint8_t> expected(bytes, bytes + owner->cursz);
    EXPECT_EQ(stats_voi_update_abs_u32(owner.get(), 2, 0x01020304), 0);
    EXPECT_EQ(stats_voi_update_abs_s64(owner.get(), 0, -2), 0);
    const uint8_t data[] = {4,    3,    2,    1,    4,    3,    2,    1,    0xfe, 0xff, 0xff, 0xff,
                            0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    std::copy(std::begin(data), std::end(data), expected.begin() + 112);
    for (const size_t valid : {56u + 8 + 7, 56u + 16 + 7, 80u + 24 + 7}) expected[valid] = 1;
    EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + owner->cursz), expected);
}

TEST(StatsLayout, TypesHaveTheSizesOfFreeBsd) {
    EXPECT_EQ(sizeof(voistatspec), 40u);
    EXPECT_EQ(sizeof(sb_visit), 32u);
    EXPECT_EQ(offsetof(sb_visit, vs_errs), 20u);
    EXPECT_EQ(offsetof(sb_visit, vs_stype), 24u);
    EXPECT_EQ(sizeof(statsblob), 8u);
    EXPECT_EQ(HIST_NBKTS2VSDSZ(crhist32, 2), 8u + 2 * 16);
    EXPECT_EQ(HIST_NBKTS2VSDSZ(dvhist64, 2), 8u + 2 * 16);
    EXPECT_EQ(HIST_NBKTS2VSDSZ(drhist32, 2), 8u + 2 * 24);
    EXPECT_EQ(TDGST_NCTRS2VSDSZ(tdgstclust32, 10), 20u + 10 * 16);
    EXPECT_EQ(TDGST_NCTRS2VSDSZ(tdgstclust64, 10), 32u + 10 * 24);
    EXPECT_EQ(offsetof(voistatdata_tdgstclust32, ctdtree), 8u);
    EXPECT_EQ(offsetof(voistatdata_tdgstclust64, ctdtree), 16u);
    EXPECT_EQ(TPL_MAX_NAME_LEN, 64);
    EXPECT_EQ(STATS_TPL_MAX_STR_SPEC_LEN, 77);
    EXPECT_EQ(VSD_NUM_DTYPES, 19);
}

TEST(StatsLayout, TheTablesNameAndMeasureEveryType) {
    EXPECT_STREQ(vs_stype2name[VS_STYPE_TDGST], "TDGST");
    EXPECT_STREQ(vs_stype2desc[VS_STYPE_VOISTATE], "VOI related state data (not a real stat)");
    EXPECT_STREQ(vs_stype2desc[VS_STYPE_SUM], "Simple arithmetic accumulator");
    EXPECT_STREQ(vs_stype2desc[VS_STYPE_MAX], "Maximum observed VOI value");
    EXPECT_STREQ(vs_stype2desc[VS_STYPE_MIN], "Minimum observed VOI value");
    EXPECT_STREQ(vs_stype2desc[VS_STYPE_HIST], "Histogram of observed VOI values");
    EXPECT_STREQ(vs_stype2desc[VS_STYPE_TDGST], "t-digest of observed VOI values");
    EXPECT_STREQ(vsd_dtype2name[VSD_DTYPE_INT_U64], "INT_U64");
    EXPECT_STREQ(vsd_dtype2name[VSD_DTYPE_CRHIST32], "CRHIST32");
    EXPECT_STREQ(vsd_dtype2name[VSD_DTYPE_TDGSTCLUST64], "TDGSTCLUST64");
    EXPECT_EQ(vsd_dtype2size[VSD_DTYPE_VOISTATE], 8u);
    EXPECT_EQ(vsd_dtype2size[VSD_DTYPE_Q_S32], 4u);
    EXPECT_EQ(numeric_limits[LIM_MIN][VSD_DTYPE_INT_S32].int32.s32, INT32_MIN);
    EXPECT_EQ(numeric_limits[LIM_MAX][VSD_DTYPE_INT_U64].int64.u64, UINT64_MAX);
    const s64q_t least = numeric_limits[LIM_MIN][VSD_DTYPE_Q_S64].q64.sq64;
    EXPECT_EQ(least, Q_IFMINVAL(least));
    const u32q_t most = numeric_limits[LIM_MAX][VSD_DTYPE_Q_U32].q32.uq32;
    EXPECT_EQ(most, Q_IFMAXVAL(most));
}

TEST(StatsLayout, TheLimitsOfQNumbersAreFreeBsdsBitByBit) {
    const auto bits = [](int which, vsd_dtype dtype) {
        return numeric_limits[which][dtype].int64.u64;
    };
    EXPECT_EQ(bits(LIM_MIN, VSD_DTYPE_Q_S32), 0xf0000001u);
    EXPECT_EQ(bits(LIM_MAX, VSD_DTYPE_Q_S32), 0x0fffffffu);
    EXPECT_EQ(bits(LIM_MIN, VSD_DTYPE_Q_U32), 0u);
    EXPECT_EQ(bits(LIM_MAX, VSD_DTYPE_Q_U32), 0x1fffffffu);
    EXPECT_EQ(bits(LIM_MIN, VSD_DTYPE_Q_S64), 0xf000000000000001u);
    EXPECT_EQ(bits(LIM_MAX, VSD_DTYPE_Q_S64), 0x0fffffffffffffffu);
    EXPECT_EQ(bits(LIM_MIN, VSD_DTYPE_Q_U64), 0u);
    EXPECT_EQ(bits(LIM_MAX, VSD_DTYPE_Q_U64), 0x1fffffffffffffffu);
}

}  // namespace

}  // namespace blkscope::stats
