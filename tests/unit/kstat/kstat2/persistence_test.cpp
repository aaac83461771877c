// A persistent kstat outlives its provider: readable with its last values, and back with them.
#include <cstring>

#include "support.hpp"

namespace blkscope::kstat2::tests {

namespace {

TEST(Kstat2Persistence, ADeletedOneIsDormantAndReadable) {
    const Owned ksp(number("misc/dormant/one", 5, KSTAT2_FLAG_PERSISTENT));
    const auto before = Maps::of_this_process().generation(anyone);
    kstat2_delete(ksp.get());
    EXPECT_NE(Maps::of_this_process().generation(anyone), before);
    EXPECT_EQ(listed(ksp.get())->flags, static_cast<uint32_t>(KSTAT2_MAPF_DORM));
    const Reading reading = read(ksp.get());
    EXPECT_EQ(integer(reading), 5U);
    EXPECT_EQ(reading.values.flags, static_cast<uint32_t>(KSTAT2_MAPF_DORM));
}

TEST(Kstat2Persistence, TheLastValuesAreThoseOfALastUpdate) {
    const Owned ksp(create("misc/lastly/one", 1, KSTAT2_FLAG_PERSISTENT));
    static int calls = 0;
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "n", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    ksp->ks2_update = [](kstat2_t* self, int) {
        KSTAT2_NAMED_PTR(self)->value.integer = 40 + static_cast<uint64_t>(++calls);
        return 0;
    };
    kstat2_install(ksp.get());
    kstat2_delete(ksp.get());
    EXPECT_EQ(integer(read(ksp.get())), 41U);
    EXPECT_EQ(integer(read(ksp.get())), 41U);
    EXPECT_EQ(calls, 1);
}

TEST(Kstat2Persistence, TheNextOneOfThePathGoesOnWithItsValues) {
    const Owned ksp(number("misc/back/one", 5, KSTAT2_FLAG_PERSISTENT));
    const hrtime_t born = ksp->ks2_crtime;
    kstat2_delete(ksp.get());
    kstat2_t* const again = create("misc/back/one", 1, KSTAT2_FLAG_PERSISTENT);
    ASSERT_EQ(again, ksp.get());
    EXPECT_FALSE(listed(again)) << "invalid until it is installed again";
    kstat2_nv_init(KSTAT2_NAMED_PTR(again), "n", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    ++KSTAT2_NAMED_PTR(again)->value.integer;
    kstat2_install(again);
    EXPECT_EQ(integer(read(again)), 6U);
    EXPECT_EQ(again->ks2_crtime, born);
    EXPECT_EQ(listed(again)->flags, static_cast<uint32_t>(KSTAT2_MAPF_NONE));
    EXPECT_EQ(read(again).values.flags, static_cast<uint32_t>(KSTAT2_MAPF_NONE));
}

// A driver that is unloaded takes its strings and arrays with it.
TEST(Kstat2Persistence, KeepsWhatItsProviderLetGoOf) {
    const std::string path = "misc/kept/one";
    const auto name = [](kstat2_t* ksp) {
        kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "ints", KSTAT2_NVVT_INTS, KSTAT2_NVF_NONE);
        kstat2_nv_init(KSTAT2_NAMED_PTR(ksp) + 1, "str", KSTAT2_NVVT_STR, KSTAT2_NVF_NONE);
        kstat2_nv_init(KSTAT2_NAMED_PTR(ksp) + 2, "strs", KSTAT2_NVVT_STRS, KSTAT2_NVF_NONE);
    };
    const Owned ksp(create(path, 3, KSTAT2_FLAG_PERSISTENT));
    name(ksp.get());
    {
        std::vector<uint64_t> numbers{1, 2, 3};
        std::string text = "a text that is too long for a small string";
        std::vector<kstat2_named_str_t> texts{{text.data(), 7}};
        kstat2_nv_setints(KSTAT2_NAMED_PTR(ksp), numbers.data(), 3);
        kstat2_nv_setstr(KSTAT2_NAMED_PTR(ksp) + 1, text.c_str());
        kstat2_nv_setstrs(KSTAT2_NAMED_PTR(ksp) + 2, texts.data(), 1);
        kstat2_install(ksp.get());
        kstat2_delete(ksp.get());
    }
    const std::vector<Value> values{{0, std::vector<uint64_t>{1, 2, 3}},
                                    {0, std::string("a text that is too long for a small string")},
                                    {0, std::vector<std::string>{"a text "}}};
    EXPECT_EQ(read(ksp.get()).values.values, values);
    ASSERT_EQ(create(path, 3, KSTAT2_FLAG_PERSISTENT), ksp.get());
    name(ksp.get());
    kstat2_install(ksp.get());
    EXPECT_EQ(read(ksp.get()).values.values, values);
    kstat2_delete(ksp.get());
    EXPECT_EQ(read(ksp.get()).values.values, values) << "a second time";
}

TEST(Kstat2Persistence, OneThatWasNeverInstalledIsGone) {
    kstat2_t* const ksp = create("misc/never/one", 1, KSTAT2_FLAG_PERSISTENT);
    const kid_t kid = ksp->ks2_kid;
    kstat2_delete(ksp);
    EXPECT_EQ(kstat2_hold_bykid(kid), nullptr);
    const Owned next(number("misc/never/one", 1));
    EXPECT_NE(next, nullptr);
}

TEST(Kstat2Persistence, OneThatWasWokenAndNotInstalledKeepsWhatItHad) {
    const Owned ksp(number("misc/woken/one", 5, KSTAT2_FLAG_PERSISTENT));
    kstat2_delete(ksp.get());
    ASSERT_EQ(create("misc/woken/one", 1, KSTAT2_FLAG_PERSISTENT), ksp.get());
    kstat2_delete(ksp.get());
    EXPECT_EQ(integer(read(ksp.get())), 5U);
}

std::string refused(kstat2_t* (*create_again)()) {
    return said([&] { EXPECT_EQ(create_again(), nullptr); });
}

TEST(Kstat2Persistence, AnotherKindOfKstatCannotTakeOver) {
    const Owned ksp(number("misc/other/one", 5, KSTAT2_FLAG_PERSISTENT));
    kstat2_delete(ksp.get());
    EXPECT_NE(refused([] { return create("misc/other/one", 2); }).find("another number of pairs"),
              std::string::npos);
    EXPECT_NE(
        refused([] { return templated("misc/other/one", KSTAT2_MT_IO); }).find("another metatype"),
        std::string::npos);
    EXPECT_NE(refused([] {
                  static kstat2_named_t data[1];
                  return create("misc/other/one", 1, 0, ALL_ZONES, KSTAT2_MF_NONE, data);
              }).find("storage of the provider's"),
              std::string::npos);
    EXPECT_EQ(integer(read(ksp.get())), 5U);
}

TEST(Kstat2Persistence, PairsWithOtherNamesOrTypesAreNotInstalled) {
    const Owned ksp(number("misc/renamed/one", 5, KSTAT2_FLAG_PERSISTENT));
    kstat2_delete(ksp.get());
    ASSERT_EQ(create("misc/renamed/one", 1), ksp.get());
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "m", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    EXPECT_NE(said([&] { kstat2_install(ksp.get()); }).find("not those that it had"),
              std::string::npos);
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "n", KSTAT2_NVVT_STR, KSTAT2_NVF_NONE);
    EXPECT_NE(said([&] { kstat2_install(ksp.get()); }).find("not those that it had"),
              std::string::npos);
    EXPECT_FALSE(listed(ksp.get()));
}

TEST(Kstat2Persistence, AHistogramGoesOnCounting) {
    const Buckets shape(KSTAT2_NVHIST_LOG10_LIN, 2, 4, 5);
    const Owned ksp(histogram("misc/histback/one", shape, KSTAT2_FLAG_PERSISTENT));
    kstat2_install(ksp.get());
    kstat2_hist_add_value(ksp.get(), 150);
    kstat2_delete(ksp.get());
    kstat2_hist_add_value(ksp.get(), 150);  // no value is counted while the kstat is dormant
    EXPECT_EQ(integers(read(ksp.get()))[1], 1U);
    ASSERT_EQ(histogram("misc/histback/one", shape, KSTAT2_FLAG_PERSISTENT), ksp.get());
    kstat2_hist_add_value(ksp.get(), 150);
    kstat2_install(ksp.get());
    EXPECT_EQ(integers(read(ksp.get()))[1], 2U);
}

TEST(Kstat2Persistence, AHistogramOfAnotherShapeOrContentCannotTakeOver) {
    const Owned ksp(histogram("misc/histother/one", Buckets(KSTAT2_NVHIST_LINEAR, 0, 100, 10),
                              KSTAT2_FLAG_PERSISTENT));
    kstat2_install(ksp.get());
    kstat2_delete(ksp.get());
    for (const Buckets& shape :
         {Buckets(KSTAT2_NVHIST_LINEAR, 0, 100, 20), Buckets(KSTAT2_NVHIST_LINEAR, 10, 100, 10),
          Buckets(KSTAT2_NVHIST_LINEAR, 0, 110, 10), Buckets(KSTAT2_NVHIST_LOG2, 0, 0, 0)}) {
        EXPECT_NE(said([&] {
                      EXPECT_EQ(histogram("misc/histother/one", shape), nullptr);
                  }).find("another shape"),
                  std::string::npos);
    }
    Segments segments("misc/histother/one");
    EXPECT_NE(said([&] {
                  EXPECT_EQ(
                      kstat2_create_histogram(segments.data(), 3, ALL_ZONES, KSTAT2_NVHIST_LINEAR,
                                              KSTAT2_NVMT_CNT, 2, KSTAT2_NVMF_NONE, nullptr, 0, 0,
                                              100, 10, 0, "a test's", KSTAT2_MF_NONE),
                      nullptr);
              }).find("another content_type, scale or md_flags"),
              std::string::npos);
}

TEST(Kstat2Persistence, ALogarithmicHistogramTakesOverWhateverRangeItIsGiven) {
    const Owned ksp(histogram("misc/histlog/one", Buckets(KSTAT2_NVHIST_LOG2, 1, 2, 3),
                              KSTAT2_FLAG_PERSISTENT));
    kstat2_install(ksp.get());
    kstat2_delete(ksp.get());
    EXPECT_EQ(histogram("misc/histlog/one", Buckets(KSTAT2_NVHIST_LOG2, 4, 5, 6)), ksp.get());
}

}  // namespace

}  // namespace blkscope::kstat2::tests
