#include "tools/gstat/filter.hpp"

#include <gtest/gtest.h>

namespace blkscope::gstat {
namespace {

TEST(GstatFilter, FindsAnExpressionAnywhereInTheName) {
    EXPECT_TRUE(Filter("nbd").shows("nbd0"));
    EXPECT_TRUE(Filter("^nbd(0|7)$").shows("nbd7"));
    EXPECT_FALSE(Filter("^nbd(0|7)$").shows("nbd10"));
    EXPECT_FALSE(Filter(",").shows("nbd0"));
}

TEST(GstatFilter, KnowsPerlsClassesAndNamesWhatIsNotAvailable) {
    EXPECT_TRUE(Filter("^nbd\\d+$").shows("nbd10"));
    EXPECT_FALSE(Filter("^nbd\\d+$").shows("nbdd"));
    EXPECT_EQ(Filter("(?i)NBD").problem(),
              "(?i), either case of a letter, is not available in a regular expression");
}

TEST(GstatFilter, WithoutOneEverythingIsShown) {
    EXPECT_TRUE(Filter("").shows("nbd0"));
}

TEST(GstatFilter, OneThatIsNoExpressionSaysWhy) {
    EXPECT_FALSE(Filter("a|b").problem());
    const Filter broken("(a");
    ASSERT_TRUE(broken.problem());
    EXPECT_FALSE(broken.problem()->empty());
    EXPECT_TRUE(broken.shows("nbd0"));
}

// regcomp(3) alone takes gigabytes of memory for such an expression.
TEST(GstatFilter, AnExpressionWithTooManyRepetitionsSaysWhy) {
    EXPECT_EQ(Filter("(((a{255}){255}){255}){255}").problem(),
              "the regular expression has too many repetitions");
}

}  // namespace
}  // namespace blkscope::gstat
