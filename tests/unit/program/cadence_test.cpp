#include "tools/program/cadence.hpp"

#include <gtest/gtest.h>

namespace blkscope::program {
namespace {

TEST(Cadence, WakesStandOneIntervalApartWhateverTheReportsTook) {
    Cadence cadence(1000, 400, true);
    EXPECT_EQ(cadence.next_wake(1010, false), 1400);
    EXPECT_EQ(cadence.next_wake(1700, false), 1800);
    EXPECT_EQ(cadence.next_wake(1801, false), 2200);
}

TEST(Cadence, WithACountALateReportIsCaughtUpWith) {
    Cadence cadence(1000, 400, false);
    EXPECT_EQ(cadence.next_wake(1301, false), 1501);  // 99 ns are left: half an interval instead
    EXPECT_EQ(cadence.next_wake(1502, false), 1800);  // the schedule is unchanged
}

TEST(Cadence, WithoutEndALateReportStartsTheScheduleAnew) {
    Cadence cadence(1000, 400, true);
    EXPECT_EQ(cadence.next_wake(5000, false), 5400);
    EXPECT_EQ(cadence.next_wake(5400, false), 5800);
}

TEST(Cadence, OnceContinuedItStartsAnewForGood) {
    Cadence cadence(1000, 400, false);
    EXPECT_EQ(cadence.next_wake(1000, true), 1400);
    EXPECT_EQ(cadence.next_wake(9000, false), 9400);
}

}  // namespace
}  // namespace blkscope::program
