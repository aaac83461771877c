#include "blockdev/backing/unmap_choice.hpp"

#include <gtest/gtest.h>

#include "page_cache_model.hpp"

namespace blkscope {
namespace {

using page_cache::file_bytes;
using page_cache::kib;
using page_cache::never;
using page_cache::Outcome;
using page_cache::run;

constexpr WriteChoice::Method map = WriteChoice::Method::map;
constexpr int64_t quick_ns = 400;
constexpr int64_t slow_ns = 30'000;

void copy_often(UnmapChoice& choice, int times, int64_t ns) {
    for (int i = 0; i < times; ++i) choice.copied(0, 4096, ns);
}

TEST(UnmapChoice, OnlyLongFaultsMakeARangeDue) {
    UnmapChoice choice(file_bytes);
    copy_often(choice, 1000, quick_ns);
    EXPECT_FALSE(choice.should_unmap(0));
    copy_often(choice, 15, slow_ns);
    EXPECT_FALSE(choice.should_unmap(0));
    copy_often(choice, 1, slow_ns);
    EXPECT_TRUE(choice.should_unmap(0));
    EXPECT_TRUE(choice.should_unmap(0));  // the question changes nothing
    EXPECT_TRUE(choice.should_unmap(write_size::range_bytes - 1));
    EXPECT_FALSE(choice.should_unmap(write_size::range_bytes));
}

TEST(UnmapChoice, ACopyWithAFaultForEachPageMakesItsRangeDueAtOnce) {
    UnmapChoice choice(file_bytes);
    choice.copied(0, 128 * kib, 1'000'000);
    EXPECT_TRUE(choice.should_unmap(0));
}

TEST(UnmapChoice, ARangeThatIsWatchedIsNotDue) {
    UnmapChoice choice(file_bytes);
    copy_often(choice, 16, slow_ns);
    ASSERT_TRUE(choice.should_unmap(0));
    choice.unmapped(0, 4096);
    EXPECT_FALSE(choice.should_unmap(0));
    copy_often(choice, 64, slow_ns);  // all are watched
    EXPECT_FALSE(choice.should_unmap(0));
    copy_often(choice, 1000, slow_ns);  // unmapping has not helped
    EXPECT_FALSE(choice.should_unmap(0));
}

TEST(UnmapChoice, ARangeThatStaysMappedStaysDue) {
    UnmapChoice choice(file_bytes);
    copy_often(choice, 1000, slow_ns);
    EXPECT_TRUE(choice.should_unmap(0));
}

TEST(UnmapChoice, ALargeFolioThatWasWrittenToTheDiskIsUnmappedAndOnlyThen) {
    const Outcome once = run({512, 4 * kib, 400'000, never}, nullptr, map);
    EXPECT_LE(once.unmapped, file_bytes / write_size::range_bytes);
    const Outcome often = run({512, 4 * kib, 400'000, 50'000}, nullptr, map);
    EXPECT_GE(often.unmapped, 7 * file_bytes / write_size::range_bytes / 2);
    EXPECT_LT(often.ns, 3 * once.ns);
}

TEST(UnmapChoice, UnmappingThatDidNotHelpIsNotRepeated) {
    const Outcome outcome = run({1, 128 * kib, 50'000, 5000}, nullptr, map);
    EXPECT_LE(outcome.unmapped, 2 * file_bytes / write_size::range_bytes);
}

}  // namespace
}  // namespace blkscope
