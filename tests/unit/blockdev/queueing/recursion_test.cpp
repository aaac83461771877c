// The accounting of a device in virtual time against a recursion over the same arrivals and draws.
// All integrals are equal to the tick.
#include "recursion.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace blkscope::queueing {
namespace {

void expect_equal(const std::vector<Compared>& all) {
    for (const Compared& each : all) {
        EXPECT_GT(each.expected.rlentime, 0) << each.name;
        EXPECT_EQ(each.seen, each.expected) << each.name;
    }
}

class Recursion : public testing::TestWithParam<const char*> {};

TEST_P(Recursion, EveryIntegralIsEqualToTheTick) {
    const auto all = compare_distribution(GetParam());
    EXPECT_EQ(all.size(), 32U);
    expect_equal(all);
}

INSTANTIATE_TEST_SUITE_P(Distributions, Recursion, testing::ValuesIn(distributions));

TEST(Recursion, ADiskWithAHeadIsEqualToTheTick) {
    const auto all = compare_hdd();
    EXPECT_EQ(all.size(), 6U);
    expect_equal(all);
}

TEST(Recursion, ADiskWithChannelsIsEqualToTheTick) {
    const auto all = compare_ssd();
    EXPECT_EQ(all.size(), 9U);
    expect_equal(all);
}

}  // namespace
}  // namespace blkscope::queueing
