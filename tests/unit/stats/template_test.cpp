#include <algorithm>
#include <thread>

#include "fixture.hpp"

namespace blkscope::stats {

namespace {

uint32_t hash_of(int tpl) {
    statsblob_tpl* found = nullptr;
    EXPECT_EQ(stats_tpl_fetch(tpl, &found), 0);
    return found->mb->tplhash;
}

// FreeBSD's hashes: a blob says by them what it is made from, also to FreeBSD's programs.
TEST(StatsTemplates, HaveTheHashesThatFreeBsdGivesThem) {
    const int hello = stats_tpl_alloc("hello", 0);
    EXPECT_EQ(hash_of(hello), 2268854422u);
    ASSERT_EQ(add(hello, 0, VSD_DTYPE_INT_U64, {STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN()},
                  0, "lat"),
              0);
    EXPECT_EQ(hash_of(hello), 2002713671u);
    EXPECT_EQ(blob_of(hello)->cursz, 96);
    EXPECT_EQ(hash_of(example_template()), 3741691821u);
    const int a = stats_tpl_alloc("A", 0);
    auto buckets = stats_hist_lin(VSD_DTYPE_CRHIST32, 10, 30, 10);
    ASSERT_EQ(add(a, 0, VSD_DTYPE_INT_S32,
                  {STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(), stats_vss_hist(buckets)},
                  SB_VOI_RELUPDATE, "v"),
              0);
    EXPECT_EQ(hash_of(a), 2388596347u);
    EXPECT_EQ(blob_of(a)->cursz, 156);
}

int template_with(const char* name, vsd_dtype dtype, const voistatspec& spec, uint32_t flags = 0) {
    const int tpl = stats_tpl_alloc(name, 0);
    EXPECT_EQ(add(tpl, 0, dtype, {spec}, flags, "v"), 0);
    return tpl;
}

TEST(StatsTemplates, ADigestHasTheHashThatFreeBsdGivesIt) {
    auto digest = stats_tdgst(VSD_DTYPE_TDGSTCLUST32, 20, 4);
    EXPECT_EQ(hash_of(template_with("t32_20_4", VSD_DTYPE_INT_S64, stats_vss_tdgst(digest))),
              3365822199u);
}

TEST(StatsTemplates, ANegativeBoundOf32BitsHasTheHashThatFreeBsdGivesIt) {
    auto lin = stats_hist_lin(VSD_DTYPE_CRHIST32, static_cast<uint64_t>(-20), 20, 20);
    EXPECT_EQ(hash_of(template_with("neg", VSD_DTYPE_INT_S32, stats_vss_hist(lin))), 1782319787u);
    const stats_hist_bkt bounds[] = {CRBKT(-5), CRBKT(0), CRBKT(5)};
    auto usr = stats_hist_usr(VSD_DTYPE_CRHIST32, bounds);
    EXPECT_EQ(hash_of(template_with("neg2", VSD_DTYPE_INT_S32, stats_vss_hist(usr))), 1068039141u);
}

TEST(StatsTemplates, AnExtremeOfQNumbersHasTheHashThatFreeBsdGivesIt) {
    auto prec = stats_numeric_prec(8);
    EXPECT_EQ(hash_of(template_with("q", VSD_DTYPE_Q_S64, stats_vss_numeric(VS_STYPE_MAX, &prec),
                                    SB_VOI_RELUPDATE)),
              2445648250u);
}

TEST(StatsTemplates, AreFoundByNameByHashAndByBoth) {
    const int one = stats_tpl_alloc("find me", 0);
    ASSERT_GE(one, 0);
    EXPECT_EQ(stats_tpl_fetch_allocid("find me", 0), one);
    EXPECT_EQ(stats_tpl_fetch_allocid("find me", hash_of(one)), one);
    EXPECT_EQ(stats_tpl_fetch_allocid(nullptr, hash_of(one)), one);
    EXPECT_EQ(stats_tpl_fetch_allocid("find me", hash_of(one) + 1), -ESRCH);
    EXPECT_EQ(stats_tpl_fetch_allocid("find nothing", 0), -ESRCH);
    char name[8];
    EXPECT_EQ(stats_tpl_id2name(static_cast<uint32_t>(one), name, 7), EOVERFLOW);
    EXPECT_EQ(stats_tpl_id2name(static_cast<uint32_t>(one), nullptr, 8), EOVERFLOW);
    EXPECT_EQ(stats_tpl_id2name(static_cast<uint32_t>(one), name, 8), 0);
    EXPECT_STREQ(name, "find me");
    EXPECT_EQ(stats_tpl_id2name(UINT32_MAX, name, 8), ENOENT);
    statsblob_tpl* none = nullptr;
    EXPECT_EQ(stats_tpl_fetch(-1, &none), ENOENT);
    EXPECT_EQ(stats_tpl_fetch(1 << 20, &none), ENOENT);
}

TEST(StatsTemplates, HaveOneNameEachOf64CharactersAtMost) {
    EXPECT_GE(stats_tpl_alloc(std::string(64, 'x').c_str(), 0), 0);
    EXPECT_EQ(stats_tpl_alloc(std::string(64, 'x').c_str(), 0), -EEXIST);
    EXPECT_EQ(stats_tpl_alloc(std::string(65, 'x').c_str(), 0), -EINVAL);
    EXPECT_EQ(stats_tpl_alloc(nullptr, 0), -ENOMEM);
}

TEST(StatsTemplates, RefuseWhatMakesNoSense) {
    const int tpl = new_template();
    const auto sum = STATS_VSS_SUM();
    EXPECT_EQ(add(tpl, -1, VSD_DTYPE_INT_U64, {sum}), EINVAL);
    EXPECT_EQ(add(tpl, 0, VSD_DTYPE_VOISTATE, {sum}), EINVAL);
    EXPECT_EQ(add(tpl, 0, VSD_DTYPE_CRHIST32, {sum}), EINVAL);
    EXPECT_EQ(add(tpl, 0, VSD_NUM_DTYPES, {sum}), EINVAL);
    EXPECT_EQ(add(tpl, 0, VSD_DTYPE_INT_U64, {}), EINVAL);
    EXPECT_EQ(add(tpl, 0, VSD_DTYPE_INT_U64, {sum}, 0, nullptr), EINVAL);
    EXPECT_EQ(add(tpl, 0, VSD_DTYPE_INT_U64, {sum, sum}), EINVAL);
    EXPECT_EQ(add(1 << 20, 0, VSD_DTYPE_INT_U64, {sum}), EINVAL);
    EXPECT_EQ(stats_tpl_add_voistats(static_cast<uint32_t>(tpl), 0, "x", VSD_DTYPE_INT_U64, 1,
                                     nullptr, 0),
              EINVAL);
    EXPECT_EQ(add(tpl, 0, VSD_DTYPE_INT_U64, {sum}), 0);
    EXPECT_EQ(add(tpl, 0, VSD_DTYPE_INT_U64, {sum}), EOPNOTSUPP);
}

TEST(StatsTemplates, TakeASpecificationThatBringsItsOwnData) {
    uint32_t initial = 7;
    voistatspec own{};
    own.iv = reinterpret_cast<voistatdata*>(&initial);
    own.vsdsz = sizeof initial;
    own.vs_dtype = VSD_DTYPE_INT_U32;
    own.stype = VS_STYPE_SUM;
    const int tpl = new_template();
    ASSERT_EQ(add(tpl, 0, VSD_DTYPE_INT_U32, {own}), 0);
    const BlobPtr blob = blob_of(tpl);
    EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 0, 3), 0);
    uint32_t sum = 0;
    EXPECT_EQ(stats_voistat_fetch_u32(blob.get(), 0, VS_STYPE_SUM, &sum), 0);
    EXPECT_EQ(sum, 10u);
    own.vsdsz = 3;
    EXPECT_EQ(add(tpl, 1, VSD_DTYPE_INT_U32, {own}), EINVAL);
    own.iv = nullptr;
    EXPECT_EQ(add(tpl, 1, VSD_DTYPE_INT_U32, {own}), EINVAL);
}

// The flags of a statistic in the template: bit 0 says that it was updated.
TEST(StatsTemplates, ASpecificationMaySayThatItsDataAreAValue) {
    uint32_t initial = 7;
    voistatspec own{};
    own.iv = reinterpret_cast<voistatdata*>(&initial);
    own.vsdsz = sizeof initial;
    own.flags = 1;
    own.vs_dtype = VSD_DTYPE_INT_U32;
    own.stype = VS_STYPE_MAX;
    const int tpl = new_template();
    ASSERT_EQ(add(tpl, 0, VSD_DTYPE_INT_U32, {own}), 0);
    EXPECT_NE(text_of(blob_of(tpl).get(), SB_STRFMT_JSON).find("\"[2]\":{\"errs\":0,\"val\":7}"),
              std::string::npos);
}

TEST(StatsTemplates, StayAsTheyAreWhenTheyWouldBecomeTooLarge) {
    const int tpl = new_template();
    auto digest = stats_tdgst(VSD_DTYPE_TDGSTCLUST64, 2700, 16);
    ASSERT_EQ(add(tpl, 0, VSD_DTYPE_INT_U64, {stats_vss_tdgst(digest)}), 0);
    const uint32_t before = hash_of(tpl);
    EXPECT_EQ(add(tpl, 1, VSD_DTYPE_INT_U64, {stats_vss_tdgst(digest)}), EFBIG);
    EXPECT_EQ(add(tpl, 40'000, VSD_DTYPE_INT_U64, {STATS_VSS_SUM()}), EFBIG);
    EXPECT_EQ(hash_of(tpl), before);
}

// However the VOIs come, each finds its own.
TEST(StatsTemplates, MayBePutTogetherInAnyOrder) {
    std::vector<int32_t> ids{0, 1, 3, 6};
    do {
        const int tpl = new_template();
        auto buckets = stats_hist_lin(VSD_DTYPE_CRHIST64, 0, 30, 10);
        for (const int32_t id : ids)
            ASSERT_EQ(add(tpl, id, VSD_DTYPE_INT_U32,
                          {STATS_VSS_SUM(), STATS_VSS_MAX(), stats_vss_hist(buckets)},
                          id % 2 == 0 ? 0 : SB_VOI_RELUPDATE),
                      0);
        const BlobPtr blob = blob_of(tpl);
        ASSERT_EQ(stats_blob_validate(blob.get(), blob->cursz), 0);
        for (const int32_t id : ids)
            ASSERT_EQ(stats_voi_update_abs_u32(blob.get(), id, static_cast<uint32_t>(id) + 1), 0);
        for (const int32_t id : ids) {
            uint32_t sum = 0;
            ASSERT_EQ(stats_voistat_fetch_u32(blob.get(), id, VS_STYPE_SUM, &sum), 0);
            ASSERT_EQ(sum, static_cast<uint32_t>(id) + 1);
        }
        ASSERT_EQ(stats_voi_update_abs_u32(blob.get(), 2, 1), EINVAL);
    } while (std::next_permutation(ids.begin(), ids.end()));
}

TEST(StatsTemplates, AreAddedByTwoThreadsWhileAThirdMakesBlobs) {
    const int tpl = new_template();
    const auto grow = [&](int32_t first) {
        for (int32_t id = first; id < 100; id += 2)
            EXPECT_EQ(add(tpl, id, VSD_DTYPE_INT_U64, {STATS_VSS_SUM()}), 0);
    };
    std::thread even(grow, 0);
    std::thread odd(grow, 1);
    for (int i = 0; i < 200; ++i) {
        const BlobPtr blob = blob_of(tpl);
        EXPECT_EQ(stats_blob_validate(blob.get(), blob->cursz), 0);
    }
    even.join();
    odd.join();
    EXPECT_EQ(blob_of(tpl)->cursz, 32 + 100 * (8 + 16 + 8));
}

}  // namespace

}  // namespace blkscope::stats
