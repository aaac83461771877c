// Foreign bytes: taken when they are a blob, refused when not, and never read beyond.
#include <cstring>
#include <random>

#include "fixture.hpp"
#include "rounds.hpp"

namespace blkscope::stats {

namespace {

// In memory of exactly its size, so that a sanitizer sees a byte too far.
std::vector<uint8_t> bytes_of_a_blob() {
    auto buckets = stats_hist_lin(VSD_DTYPE_CRHIST32, 0, 40, 10);
    auto digest = stats_tdgst(VSD_DTYPE_TDGSTCLUST32, 8, 4);
    auto wide = stats_tdgst(VSD_DTYPE_TDGSTCLUST64, 8, 16);
    const int tpl = new_template();
    EXPECT_EQ(
        add(tpl, 0, VSD_DTYPE_INT_U32,
            {STATS_VSS_SUM(), STATS_VSS_MAX(), stats_vss_hist(buckets), stats_vss_tdgst(digest)},
            SB_VOI_RELUPDATE),
        0);
    EXPECT_EQ(add(tpl, 2, VSD_DTYPE_INT_S64, {STATS_VSS_MIN(), stats_vss_tdgst(wide)}), 0);
    const BlobPtr blob = blob_of(tpl);
    for (uint32_t i = 0; i < 30; ++i) {
        EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 0, i * 7 % 50), 0);
        EXPECT_EQ(stats_voi_update_abs_s64(blob.get(), 2, i * 11 % 50), 0);
    }
    const auto* const bytes = reinterpret_cast<const uint8_t*>(blob.get());
    return {bytes, bytes + blob->cursz};
}

TEST(StatsValidate, TakesABlobAndNoPartOfOne) {
    const std::vector<uint8_t> bytes = bytes_of_a_blob();
    EXPECT_EQ(stats_blob_validate(bytes.data(), bytes.size()), 0);
    EXPECT_EQ(stats_blob_validate(bytes.data(), bytes.size() + 100), 0);
    for (size_t size = 0; size < bytes.size(); ++size) {
        const std::vector<uint8_t> part(bytes.begin(),
                                        bytes.begin() + static_cast<ptrdiff_t>(size));
        ASSERT_NE(stats_blob_validate(part.data(), part.size()), 0) << size;
    }
    EXPECT_EQ(stats_blob_validate(nullptr, 100), EINVAL);
}

TEST(StatsValidate, KnowsAnotherAbiAndByteOrder) {
    std::vector<uint8_t> bytes = bytes_of_a_blob();
    bytes[1] = SB_BE;
    EXPECT_EQ(stats_blob_validate(bytes.data(), bytes.size()), EFTYPE);
    bytes[1] = SB_LE;
    bytes[0] = 2;
    EXPECT_EQ(stats_blob_validate(bytes.data(), bytes.size()), EFTYPE);
}

// All numbers of such a blob are in the other order, its sizes too.
TEST(StatsValidate, ABlobOfTheOtherByteOrderIsNeitherFedNorReadNorCopied) {
    const BlobPtr blob =
        blob_with(VSD_DTYPE_INT_U32, {STATS_VSS_SUM(), STATS_VSS_MAX()}, SB_VOI_RELUPDATE);
    for (const uint8_t other : {SB_BE, SB_UE}) {
        blob->endian = other;
        EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 0, 1), EFTYPE);
        EXPECT_EQ(stats_voi_update_rel_u32(blob.get(), 0, 1), EFTYPE);
        uint32_t sum = 7;
        EXPECT_EQ(stats_voistat_fetch_u32(blob.get(), 0, VS_STYPE_SUM, &sum), EFTYPE);
        EXPECT_EQ(sum, 7u);
        voistatdata* data = nullptr;
        EXPECT_EQ(stats_voistat_fetch_dptr(blob.get(), 0, VS_STYPE_SUM, nullptr, &data, nullptr),
                  EFTYPE);
        statsblob* copy = nullptr;
        EXPECT_EQ(stats_blob_clone(&copy, 0, blob.get(), SB_CLONE_ALLOCDST), EFTYPE);
        EXPECT_EQ(copy, nullptr);
    }
    blob->endian = SB_LE;
    EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 0, 1), 0);
}

// An accepted blob can be used in every way; a blob that cannot be used is refused.
void use(std::vector<uint64_t>& memory) {
    auto* const blob = reinterpret_cast<statsblob*>(memory.data());
    sbuf* const text = sbuf_new_auto();
    for (const uint32_t flags : {uint32_t{0}, uint32_t{SB_TOSTR_OBJDUMP}})
        EXPECT_EQ(stats_blob_tostr(blob, text, SB_STRFMT_JSON, flags), 0);
    sbuf_delete(text);
    double value = 0;
    for (int32_t voi = 0; voi < 3; ++voi) stats_voi_quantile(blob, voi, 0.5, &value);
    for (uint32_t i = 0; i < 40; ++i) {
        stats_voi_update_rel_u32(blob, 0, i);
        stats_voi_update_abs_s64(blob, 2, -static_cast<int64_t>(i));
    }
    EXPECT_EQ(stats_blob_validate(blob, blob->cursz), 0);
    statsblob* copy = nullptr;
    ASSERT_EQ(stats_blob_snapshot(&copy, 0, blob, SB_CLONE_ALLOCDST | SB_CLONE_RSTSRC), 0);
    stats_blob_merge(blob, copy);
    EXPECT_EQ(stats_blob_validate(blob, blob->cursz), 0);
    stats_blob_destroy(copy);
}

TEST(StatsValidate, WhatItTakesMayBeUsedInEveryWay) {
    const std::vector<uint8_t> bytes = bytes_of_a_blob();
    std::mt19937 random(20261121);
    int taken = 0;
    const int all = computed_rounds(30'000);
    for (int round = 0; round < all; ++round) {
        std::vector<uint64_t> memory((bytes.size() + 7) / 8);
        std::memcpy(memory.data(), bytes.data(), bytes.size());
        auto* const changed = reinterpret_cast<uint8_t*>(memory.data());
        for (int i = static_cast<int>(random() % 3); i >= 0; --i)
            changed[random() % bytes.size()] = static_cast<uint8_t>(random());
        if (stats_blob_validate(memory.data(), bytes.size()) != 0) continue;
        ++taken;
        use(memory);
    }
    EXPECT_GT(taken, 100);
    EXPECT_LT(taken, all - all / 30);
}

}  // namespace

}  // namespace blkscope::stats
