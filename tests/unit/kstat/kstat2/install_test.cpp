// The kstats that kstat2_install makes visible, and those that stay invisible.
#include <cstring>

#include "support.hpp"

namespace blkscope::kstat2::tests {

namespace {

void expect_not_installed(kstat2_t* ksp, const std::string& reason) {
    const std::string line = said([ksp] { kstat2_install(ksp); });
    EXPECT_EQ(line, "kstat2_install('" + std::string(ksp->ks2_path) + "'): " + reason + "\n");
    EXPECT_FALSE(listed(ksp));
}

TEST(Kstat2Install, MakesTheKstatAndItsMetadataVisible) {
    static const kstat2_md_t md[] = {
        {KSTAT2_NVMT_BYTES, KSTAT2_NVMF_NONE, 4096, "memory", KSTAT_DATA_UINT64},
        {KSTAT2_NVMT_T_REL, KSTAT2_NVMF_FRACT, 1000, nullptr, -1}};
    Segments segments("vm/usage/memory");
    const Owned ksp(
        kstat2_create(segments.data(), 3, ALL_ZONES, nullptr, 2, 0, md, "pages", KSTAT2_MF_STABLE));
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "pages", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp) + 1, "since", KSTAT2_NVVT_INTS, KSTAT2_NVF_INVAL);
    kstat2_install(ksp.get());
    const auto map = listed(ksp.get());
    ASSERT_TRUE(map);
    EXPECT_EQ(map->path, "/vm/usage/memory");
    EXPECT_EQ(map->desc, "pages");
    EXPECT_EQ(map->crtime, ksp->ks2_crtime);
    EXPECT_EQ(map->metaflags, static_cast<uint32_t>(KSTAT2_MF_STABLE));
    EXPECT_EQ(map->flags, static_cast<uint32_t>(KSTAT2_MAPF_NONE));
    const std::vector<Field> fields{
        {"pages", KSTAT2_NVVT_INT, {KSTAT2_NVMT_BYTES, 0, 4096, KSTAT_DATA_UINT64, "memory"}},
        {"since", KSTAT2_NVVT_INTS, {KSTAT2_NVMT_T_REL, KSTAT2_NVMF_FRACT, 1000, -1, ""}}};
    EXPECT_EQ(map->fields, fields);
}

TEST(Kstat2Install, WithoutMetadataValuesAreUnknownNumbers) {
    const Owned ksp(number("misc/plain/one", 1));
    EXPECT_EQ(listed(ksp.get())->fields[0].md, Metadata());
}

TEST(Kstat2Install, ChangesTheGeneration) {
    const auto before = Maps::of_this_process().generation(anyone);
    const Owned ksp(create("misc/generation/one"));
    EXPECT_EQ(Maps::of_this_process().generation(anyone), before);
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "n", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    kstat2_install(ksp.get());
    EXPECT_NE(Maps::of_this_process().generation(anyone), before);
}

TEST(Kstat2Install, LeavesAKstatWhosePairsAreNotInOrderInvisible) {
    const Owned ksp(create("misc/disorder/one", 2));
    kstat2_named_t* const pairs = KSTAT2_NAMED_PTR(ksp);
    expect_not_installed(ksp.get(), "pair 0 has no name");
    kstat2_nv_init(&pairs[0], "", KSTAT2_NVVT_INT, 0);
    expect_not_installed(ksp.get(), "pair 0 has no name");
    kstat2_nv_init(&pairs[0], "a", KSTAT2_NVVT_MAP, 0);
    expect_not_installed(ksp.get(), "pair 0 ('a') has no value type");
    kstat2_nv_init(&pairs[0], "a", 5, 0);
    expect_not_installed(ksp.get(), "pair 0 ('a') has no value type");
    kstat2_nv_init(&pairs[0], "a", KSTAT2_NVVT_INT, 0);
    kstat2_nv_init(&pairs[1], "a", KSTAT2_NVVT_STR, 0);
    expect_not_installed(ksp.get(), "there is another 'a'");
    kstat2_nv_init(&pairs[1], "crtime", KSTAT2_NVVT_INT, 0);
    expect_not_installed(ksp.get(), "there is another 'crtime'");
    kstat2_nv_init(&pairs[1], "b", KSTAT2_NVVT_INT, 0);
    kstat2_install(ksp.get());
    EXPECT_TRUE(listed(ksp.get()));
}

TEST(Kstat2Install, RefusesAPairThatIsTheNameOfAKstatBelow) {
    const Owned below(number("misc/nested/one/below", 1));
    const Owned ksp(create("misc/nested/one"));
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "below", KSTAT2_NVVT_INT, 0);
    expect_not_installed(ksp.get(), "its pair is the path of /misc/nested/one/below");
}

TEST(Kstat2Install, RefusesNamesAndDescriptionsThatNoPageHolds) {
    static const std::string text(60'000, 'x');
    const kstat2_md_t md{KSTAT2_NVMT_CNT, 0, 1, text.c_str(), -1};
    const std::vector<kstat2_md_t> mds(20, md);
    Segments segments("misc/huge/one");
    const Owned ksp(kstat2_create(segments.data(), 3, ALL_ZONES, nullptr, 20, 0, mds.data(), "",
                                  KSTAT2_MF_NONE));
    std::vector<std::string> names;
    for (int i = 0; i < 20; ++i) names.push_back(std::to_string(i));
    for (size_t i = 0; i < 20; ++i) {
        kstat2_nv_init(KSTAT2_NAMED_PTR(ksp) + i, names[i].c_str(), KSTAT2_NVVT_INT, 0);
    }
    expect_not_installed(ksp.get(), "its names and descriptions take more than 1 MiB");
}

TEST(Kstat2Install, SaysWhenThereIsNothingToInstall) {
    EXPECT_EQ(said([] { kstat2_install(nullptr); }), "kstat2_install(''): ksp is NULL\n");
    kstat2_t stranger{};
    EXPECT_EQ(said([&] { kstat2_install(&stranger); }), "kstat2_install(''): no such kstat\n");
    const Owned ksp(number("misc/twice/one", 1));
    EXPECT_EQ(said([&] { kstat2_install(ksp.get()); }),
              "kstat2_install('/misc/twice/one'): it is installed already\n");
}

TEST(Kstat2Install, AHistogramsLockIsTheFrameworks) {
    const Owned ksp(histogram("misc/locked/one", Buckets(KSTAT2_NVHIST_LOG2, 0, 0, 0)));
    kmutex_t lock;
    mutex_init(&lock, nullptr, MUTEX_DRIVER, nullptr);
    ksp->ks2_lock = &lock;
#ifdef KSTAT2_STRICT
    EXPECT_DEATH(kstat2_install(ksp.get()), "ks2_lock of a histogram is not the provider's");
    ksp->ks2_lock = nullptr;
#else
    EXPECT_EQ(
        said([&] { kstat2_install(ksp.get()); }),
        "kstat2_install('/misc/locked/one'): ks2_lock of a histogram is not the provider's\n");
    EXPECT_EQ(ksp->ks2_lock, nullptr);
    EXPECT_TRUE(listed(ksp.get()));
#endif
}

TEST(Kstat2Install, NamesAreCopied) {
    char name[] = "changing";
    const Owned ksp(create("misc/copied/one"));
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), name, KSTAT2_NVVT_INT, 0);
    kstat2_install(ksp.get());
    std::strcpy(name, "gone");
    EXPECT_EQ(listed(ksp.get())->fields[0].name, "changing");
}

}  // namespace

}  // namespace blkscope::kstat2::tests
