#include "tools/program/stamp.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace blkscope::program {
namespace {

TEST(Stamp, AStampLineIsTheSecondsOrTheDate) {
    setenv("TZ", "UTC", 1);
    EXPECT_EQ(stamp_line(1'234'567'890, Stamp::none), "");
    EXPECT_EQ(stamp_line(1'234'567'890, Stamp::epoch), "1234567890\n");
    EXPECT_EQ(stamp_line(1'234'567'890, Stamp::date), "Fri Feb 13 23:31:30 UTC 2009\n");
}

}  // namespace
}  // namespace blkscope::program
