#include "blockdev/backing/page_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace blkscope {
namespace {

TEST(PageSet, BeginsEmpty) {
    const PageSet set(1000);
    EXPECT_FALSE(set.contains(0));
    EXPECT_EQ(set.run(0, 1000).pages, 1000u);
}

TEST(PageSet, ARunEndsAtItsLimit) {
    PageSet set(1000);
    set.add(10, 500);
    EXPECT_EQ(set.run(10, 200).pages, 190u);
    EXPECT_EQ(set.run(499, 1000).pages, 1u);
    EXPECT_EQ(set.run(500, 1000).pages, 500u);
}

// After any additions and removals, the set equals a vector of bool.
TEST(PageSet, AgreesWithAPlainVector) {
    constexpr uint64_t pages = 300;
    std::mt19937 random(20261121);
    PageSet set(pages);
    std::vector<bool> model(pages);
    for (int i = 0; i < 2000; ++i) {
        const uint64_t first = random() % pages;
        const uint64_t end = first + random() % (pages - first + 1);
        const bool add = random() % 2 == 0;
        add ? set.add(first, end) : set.remove(first, end);
        std::fill(model.begin() + static_cast<ptrdiff_t>(first),
                  model.begin() + static_cast<ptrdiff_t>(end), add);
        const uint64_t at = random() % pages;
        uint64_t run = 0;
        while (at + run < pages && model[at + run] == model[at]) ++run;
        ASSERT_EQ(set.contains(at), model[at]);
        ASSERT_EQ(set.run(at, pages).pages, run);
    }
}

}  // namespace
}  // namespace blkscope
