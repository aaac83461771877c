#include "tools/program/time_text.hpp"

#include <gtest/gtest.h>

namespace blkscope::program {
namespace {

TEST(TimeText, HasTheLargestUnitThatIsNotLonger) {
    EXPECT_EQ(time_text(0, 3), "0ns");
    EXPECT_EQ(time_text(0.25, 3), "0.25ns");
    EXPECT_EQ(time_text(999, 3), "999ns");
    EXPECT_EQ(time_text(1000, 3), "1us");
    EXPECT_EQ(time_text(1e6, 3), "1ms");
    EXPECT_EQ(time_text(9e13, 3), "90000s");
}

TEST(TimeText, HasAsManyDigitsAsAreAskedFor) {
    EXPECT_EQ(time_text(134'664, 3), "135us");
    EXPECT_EQ(time_text(134'664, 4), "134.7us");
    EXPECT_EQ(time_text(134'664, 6), "134.664us");
    EXPECT_EQ(time_text(2'500'000'000, 3), "2.5s");
}

TEST(TimeText, RoundsUpIntoTheNextUnit) {
    EXPECT_EQ(time_text(999'499, 3), "999us");
    EXPECT_EQ(time_text(999'501, 3), "1ms");
    EXPECT_EQ(time_text(999'999'999, 3), "1s");
    EXPECT_EQ(time_text(999.9, 3), "1us");
}

TEST(TimeText, HasNoExponent) {
    EXPECT_EQ(time_text(134'664, 2), "135us");
    EXPECT_EQ(time_text(999'700'000'000, 3), "1000s");
    EXPECT_EQ(time_text(99'600, 2), "100us");
}

}  // namespace
}  // namespace blkscope::program
