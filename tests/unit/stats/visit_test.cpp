#include "fixture.hpp"

namespace blkscope::stats {

namespace {

using Seen = std::vector<sb_visit>;

int note(sb_visit* visit, void* context) {
    static_cast<Seen*>(context)->push_back(*visit);
    return 0;
}

TEST(StatsVisit, ShowsEveryStatisticAndWhichAreFirstAndLast) {
    const int tpl = new_template();
    ASSERT_EQ(add(tpl, 3, VSD_DTYPE_INT_U32, {STATS_VSS_SUM(), STATS_VSS_MIN()}), 0);
    ASSERT_EQ(add(tpl, 1, VSD_DTYPE_INT_S64, {STATS_VSS_MAX()}, SB_VOI_RELUPDATE), 0);
    ASSERT_EQ(add(tpl, 4, VSD_DTYPE_INT_S64, {STATS_VSS_MAX()}), 0);
    const BlobPtr blob = blob_of(tpl);
    EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 3, 7), 0);
    Seen seen;
    ASSERT_EQ(stats_blob_visit(blob.get(), note, &seen), 0);
    struct Expected {
        int16_t voi;
        int8_t stype;
        uint32_t flags;
    };
    const Expected expected[] = {
        {1, VS_STYPE_VOISTATE, SB_IT_FIRST_CB | SB_IT_FIRST_VOI | SB_IT_FIRST_VOISTAT},
        {1, VS_STYPE_MAX, SB_IT_FIRST_VOI | SB_IT_LAST_VOISTAT},
        {3, VS_STYPE_SUM, SB_IT_FIRST_VOISTAT},
        {3, VS_STYPE_MIN, SB_IT_LAST_VOISTAT},
        {4, VS_STYPE_MAX,
         SB_IT_LAST_VOI | SB_IT_FIRST_VOISTAT | SB_IT_LAST_VOISTAT | SB_IT_LAST_CB}};
    ASSERT_EQ(seen.size(), std::size(expected));
    for (size_t i = 0; i < seen.size(); ++i) {
        EXPECT_EQ(seen[i].voi_id, expected[i].voi);
        EXPECT_EQ(seen[i].vs_stype, expected[i].stype);
        EXPECT_EQ(seen[i].flags, expected[i].flags) << i;
    }
    EXPECT_EQ(seen[2].vs_data->int32.u32, 7u);
    EXPECT_EQ(seen[2].vs_dsz, 4);
    EXPECT_EQ(seen[2].voi_dtype, VSD_DTYPE_INT_U32);
    EXPECT_EQ(seen[2].vs_dtype, VSD_DTYPE_INT_U32);
    EXPECT_EQ(seen[2].vs_errs, 0);
    statsblob_tpl* found = nullptr;
    ASSERT_EQ(stats_tpl_fetch(tpl, &found), 0);
    EXPECT_EQ(seen[2].tplhash, found->mb->tplhash);
}

TEST(StatsVisit, EndsWhenItIsToldTo) {
    const BlobPtr blob =
        blob_with(VSD_DTYPE_INT_U32, {STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN()});
    int calls = 0;
    const auto stop_at_second = [](sb_visit*, void* context) {
        return ++*static_cast<int*>(context) == 2 ? 1 : 0;
    };
    EXPECT_EQ(stats_blob_visit(blob.get(), stop_at_second, &calls), 0);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(stats_blob_visit(blob.get(), nullptr, nullptr), EINVAL);
    EXPECT_EQ(stats_blob_visit(nullptr, note, nullptr), EINVAL);
}

TEST(StatsVisit, OfAnEmptyBlobIsNoCall) {
    const BlobPtr blob = blob_of(new_template());
    Seen seen;
    EXPECT_EQ(stats_blob_visit(blob.get(), note, &seen), 0);
    EXPECT_TRUE(seen.empty());
}

}  // namespace

}  // namespace blkscope::stats
