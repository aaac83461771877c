// Kstats that tell readers the same share it, and none of them sees another come or go.
#include <malloc.h>

#include <cstring>

#include "support.hpp"

namespace blkscope::kstat2::tests {

namespace {

constexpr Buckets times{KSTAT2_NVHIST_LOG10_LIN, 3, 10, 20};

std::vector<Owned> histograms(const std::string& name, int count, uint64_t* buckets) {
    std::vector<Owned> many;
    for (int i = 0; i < count; ++i) {
        many.emplace_back(histogram("disk/" + name + "/" + std::to_string(i) + "/service_time",
                                    times, 0, buckets, static_cast<uint16_t>(times.count())));
        kstat2_install(many.back().get());
    }
    return many;
}

const char* name_of(const Owned& ksp, size_t pair) {
    return KSTAT2_NAMED_PTR(ksp.get())[pair].name.ptr;
}

TEST(Kstat2Sharing, HistogramsOfOneKindHaveTheirNamesOnce) {
    std::vector<uint64_t> buckets(times.count());
    const auto two = histograms("names", 2, buckets.data());
    for (size_t i = 0; i < two[0]->ks2_ndata; ++i) {
        EXPECT_EQ(name_of(two[0], i), name_of(two[1], i)) << name_of(two[0], i);
    }
}

TEST(Kstat2Sharing, AHistogramThatStaysKeepsWhatItSharedWithADeletedOne) {
    std::vector<uint64_t> buckets(times.count());
    auto two = histograms("stays", 2, buckets.data());
    const Map before = *listed(two[1].get());
    two[0].reset();
    EXPECT_EQ(*listed(two[1].get()), before);
    EXPECT_STREQ(name_of(two[1], 0), "buckets");
    EXPECT_STREQ(name_of(two[1], 4), "stepping");
    kstat2_hist_add_value(two[1].get(), 5000);
    EXPECT_EQ(buckets[times.index(5000)], 1u);
}

// The one that is woken tells readers something else, and the other one what it always told.
TEST(Kstat2Sharing, AnotherDescriptionOfOneChangesNoOther) {
    const Owned one(number("misc/woken/one", 1, KSTAT2_FLAG_PERSISTENT));
    const Owned other(number("misc/woken/other", 2, KSTAT2_FLAG_PERSISTENT));
    kstat2_delete(one.get());
    Segments path("misc/woken/one");
    const kstat2_md_t md{KSTAT2_NVMT_BYTES, KSTAT2_NVMF_NONE, 1, "now with metadata", -1};
    ASSERT_EQ(kstat2_create(path.data(), path.size(), ALL_ZONES, nullptr, 1, KSTAT2_FLAG_PERSISTENT,
                            &md, "another text", KSTAT2_MF_STABLE),
              one.get());
    EXPECT_STREQ(name_of(one, 0), "n") << "kept while it is not installed";
    kstat2_install(one.get());
    EXPECT_EQ(listed(one.get())->desc, "another text");
    EXPECT_EQ(listed(one.get())->fields[0].md.descr, "now with metadata");
    EXPECT_EQ(listed(other.get())->desc, "a test's");
    EXPECT_EQ(listed(other.get())->fields[0].md, Metadata());
    EXPECT_STREQ(name_of(one, 0), "n");
    EXPECT_STREQ(name_of(other, 0), "n");
}

// Descriptions without a user are removed while others are added.
TEST(Kstat2Sharing, DescriptionsThatComeAndGoLeaveNothing) {
    if (BLKSCOPE_SANITIZED) GTEST_SKIP() << "SKIPPED: the sanitizer has a heap of its own";
    const auto come_and_go = [](int from, int to) {
        for (int i = from; i < to; ++i) {
            Segments path("misc/passing/one");
            const std::string desc = "number " + std::to_string(i) + std::string(1000, '.');
            const Owned ksp(kstat2_create(path.data(), path.size(), ALL_ZONES, nullptr, 1, 0,
                                          nullptr, desc.c_str(), KSTAT2_MF_NONE));
            kstat2_nv_init(KSTAT2_NAMED_PTR(ksp.get()), "n", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
            kstat2_install(ksp.get());
            EXPECT_EQ(listed(ksp.get())->desc, desc);
        }
    };
    come_and_go(0, 200);
    const size_t before = mallinfo2().uordblks;
    come_and_go(200, 2200);
    EXPECT_LT(mallinfo2().uordblks, before + 64 * 1024);
}

TEST(Kstat2Sharing, AHistogramOfAKindThatIsKnownCostsLessThan1000Bytes) {
    if (BLKSCOPE_SANITIZED) GTEST_SKIP() << "SKIPPED: the sanitizer has a heap of its own";
    constexpr int count = 500;
    std::vector<uint64_t> buckets(times.count());
    const auto first = histograms("first", 1, buckets.data());
    const size_t before = mallinfo2().uordblks;
    const auto others = histograms("others", count, buckets.data());
    EXPECT_LT((mallinfo2().uordblks - before) / count, 1000u);
}

}  // namespace

}  // namespace blkscope::kstat2::tests
