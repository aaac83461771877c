// Copies, snapshots, resets, merges.
#include <algorithm>
#include <cstring>
#include <random>

#include "fixture.hpp"

namespace blkscope::stats {

namespace {

// Makes the template, too.
BlobPtr blob_with_everything(int tpl) {
    auto buckets = stats_hist_lin(VSD_DTYPE_CRHIST32, 0, 100, 10);
    auto digest = stats_tdgst(VSD_DTYPE_TDGSTCLUST64, 20, 16);
    const std::vector<voistatspec> specs{STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(),
                                         stats_vss_hist(buckets), stats_vss_tdgst(digest)};
    EXPECT_EQ(add(tpl, 0, VSD_DTYPE_INT_U32, specs, SB_VOI_RELUPDATE), 0);
    EXPECT_EQ(add(tpl, 3, VSD_DTYPE_INT_S64, specs), 0);
    return blob_of(tpl);
}

std::vector<uint8_t> bytes_of(const statsblob* blob) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(blob);
    return {bytes, bytes + blob->cursz};
}

void feed(const BlobPtr& blob, unsigned seed, int count) {
    std::mt19937 random(seed);
    for (int i = 0; i < count; ++i) {
        EXPECT_EQ(
            stats_voi_update_abs_u32(blob.get(), 0, static_cast<uint32_t>(1 + random() % 120)), 0);
        EXPECT_EQ(stats_voi_update_abs_s64(blob.get(), 3, static_cast<int64_t>(random() % 50) - 25),
                  0);
    }
}

TEST(StatsClone, FitsOrTellsTheSizeThatIsNeeded) {
    const BlobPtr source = blob_with_everything(new_template());
    feed(source, 1, 100);
    std::vector<uint64_t> memory(source->cursz / 8 + 2);
    auto* copy = reinterpret_cast<statsblob*>(memory.data());
    for (size_t room = 0; room <= source->cursz; ++room) {
        std::fill(memory.begin(), memory.end(), 0x5555555555555555);
        const auto untouched = memory.back();
        const int error = stats_blob_clone(&copy, room, source.get(), 0);
        ASSERT_EQ(error, room < 8 ? EINVAL : room < source->cursz ? EOVERFLOW : 0) << room;
        ASSERT_EQ(copy->maxsz, 0x5555);
        ASSERT_EQ(copy->cursz, room < 8 ? 0x5555 : source->cursz);
        ASSERT_EQ(memory[1] == 0x5555555555555555, room < source->cursz);
        ASSERT_EQ(memory.back(), untouched);
    }
    copy->maxsz = source->maxsz;
    EXPECT_EQ(bytes_of(copy), bytes_of(source.get()));
}

TEST(StatsClone, MayAllocateTheCopy) {
    const BlobPtr source = blob_with_everything(new_template());
    feed(source, 1, 100);
    statsblob* copy = nullptr;
    ASSERT_EQ(stats_blob_clone(&copy, 0, source.get(), SB_CLONE_ALLOCDST), 0);
    EXPECT_EQ(bytes_of(copy), bytes_of(source.get()));
    stats_blob_destroy(copy);
    EXPECT_EQ(stats_blob_clone(&copy, 0, source.get(), SB_CLONE_ALLOCDST | SB_CLONE_USRDST),
              EINVAL);
    EXPECT_EQ(stats_blob_clone(nullptr, 0, source.get(), SB_CLONE_ALLOCDST), EINVAL);
    EXPECT_EQ(stats_blob_clone(&copy, 0, nullptr, SB_CLONE_ALLOCDST), EINVAL);
    copy = nullptr;
    EXPECT_EQ(stats_blob_clone(&copy, 4096, source.get(), 0), EINVAL);
}

TEST(StatsSnapshot, MayResetItsSourceToWhatItWas) {
    const int tpl = new_template();
    const BlobPtr source = blob_with_everything(tpl);
    const BlobPtr fresh = blob_of(tpl);
    feed(source, 1, 500);
    const auto before = bytes_of(source.get());
    statsblob* copy = nullptr;
    ASSERT_EQ(stats_blob_snapshot(&copy, 0, source.get(), SB_CLONE_ALLOCDST | SB_CLONE_RSTSRC), 0);
    EXPECT_EQ(bytes_of(copy), before);
    stats_blob_destroy(copy);
    uint32_t last = 0;
    std::memcpy(&last, stat_of(source, VS_STYPE_VOISTATE).data, sizeof last);
    EXPECT_NE(last, 0u);
    auto after = bytes_of(source.get());
    auto expected = bytes_of(fresh.get());
    std::copy(after.begin() + 16, after.begin() + 32, expected.begin() + 16);  // the times
    const auto state = reinterpret_cast<uint8_t*>(stat_of(source, VS_STYPE_VOISTATE).data) -
                       reinterpret_cast<uint8_t*>(source.get());
    std::copy_n(after.begin() + state, 8, expected.begin() + state);
    EXPECT_EQ(after, expected);
    EXPECT_EQ(stats_voi_update_rel_u32(source.get(), 0, 1), 0);
    uint32_t max = 0;
    EXPECT_EQ(stats_voistat_fetch_u32(source.get(), 0, VS_STYPE_MAX, &max), 0);
    EXPECT_EQ(max, last + 1);
}

TEST(StatsSnapshot, ThatFailedResetsNothing) {
    const BlobPtr source = blob_with_everything(new_template());
    feed(source, 1, 50);
    const auto before = bytes_of(source.get());
    uint64_t memory[2] = {};
    auto* copy = reinterpret_cast<statsblob*>(memory);
    EXPECT_EQ(stats_blob_snapshot(&copy, sizeof memory, source.get(), SB_CLONE_RSTSRC), EOVERFLOW);
    EXPECT_EQ(bytes_of(source.get()), before);
    EXPECT_EQ(copy->cursz, source->cursz);
}

TEST(StatsInit, NeedsRoomForTheTemplate) {
    const int tpl = new_template();
    const BlobPtr like = blob_with_everything(tpl);
    std::vector<uint64_t> memory(4096);
    auto* const blob = reinterpret_cast<statsblob*>(memory.data());
    blob->maxsz = static_cast<uint16_t>(like->cursz - 1);
    EXPECT_EQ(stats_blob_init(blob, static_cast<uint32_t>(tpl), 0), EOVERFLOW);
    blob->maxsz = UINT16_MAX;
    EXPECT_EQ(stats_blob_init(blob, static_cast<uint32_t>(tpl), 0), 0);
    EXPECT_EQ(blob->cursz, like->cursz);
    EXPECT_EQ(blob->maxsz, like->cursz);
    EXPECT_EQ(stats_blob_init(blob, UINT32_MAX, 0), EINVAL);
    EXPECT_EQ(stats_blob_init(nullptr, static_cast<uint32_t>(tpl), 0), EINVAL);
    EXPECT_EQ(stats_blob_alloc(UINT32_MAX, 0), nullptr);
    stats_blob_destroy(nullptr);
}

TEST(StatsMerge, OfPartsIsTheWhole) {
    const int tpl = new_template();
    const BlobPtr whole = blob_with_everything(tpl);
    const BlobPtr merged = blob_of(tpl);
    for (unsigned part = 0; part < 8; ++part) {
        const BlobPtr shard = blob_of(tpl);
        feed(shard, part, 300);
        feed(whole, part, 300);
        ASSERT_EQ(stats_blob_merge(merged.get(), shard.get()), 0);
        ASSERT_EQ(stats_blob_validate(merged.get(), merged->cursz), 0);
    }
    for (const voi_stype stype : {VS_STYPE_SUM, VS_STYPE_MAX, VS_STYPE_MIN, VS_STYPE_HIST}) {
        const Stat a = stat_of(whole, stype, 3);
        const Stat b = stat_of(merged, stype, 3);
        EXPECT_EQ(std::memcmp(a.data, b.data, a.size), 0) << vs_stype2name[stype];
    }
    uint64_t samples = 0;  // copied out: behind 32-bit data it is misaligned
    std::memcpy(&samples, stat_of(merged, VS_STYPE_TDGST).data, sizeof samples);
    EXPECT_EQ(samples, 2400u);
    for (const double q : {0.1, 0.5, 0.9}) {
        double a = 0;
        double b = 0;
        EXPECT_EQ(stats_voi_quantile(whole.get(), 0, q, &a), 0);
        EXPECT_EQ(stats_voi_quantile(merged.get(), 0, q, &b), 0);
        EXPECT_NEAR(a, b, 6);
    }
}

TEST(StatsMerge, RefusesABlobOfAnotherTemplate) {
    const BlobPtr one = blob_with(VSD_DTYPE_INT_U32, {STATS_VSS_SUM()});
    const BlobPtr other = blob_with(VSD_DTYPE_INT_U32, {STATS_VSS_MAX()});
    const auto before = bytes_of(one.get());
    EXPECT_EQ(stats_blob_merge(one.get(), other.get()), EINVAL);
    EXPECT_EQ(stats_blob_merge(one.get(), one.get()), EINVAL);
    EXPECT_EQ(stats_blob_merge(one.get(), nullptr), EINVAL);
    EXPECT_EQ(bytes_of(one.get()), before);
}

}  // namespace

}  // namespace blkscope::stats
