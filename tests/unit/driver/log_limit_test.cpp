#include "driver/nbd/server/log_limit.hpp"

#include <gtest/gtest.h>

namespace blkscope::nbd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr LogLimit::Time start{std::chrono::hours(1)};

unsigned admitted(LogLimit& limit, LogLimit::Time now, unsigned lines) {
    unsigned count = 0;
    for (unsigned i = 0; i < lines; ++i) count += limit.admit(now) ? 1 : 0;
    return count;
}

TEST(LogLimit, AdmitsABurstAndCountsTheRest) {
    LogLimit limit;
    EXPECT_EQ(admitted(limit, start, 100), LogLimit::burst);
    EXPECT_EQ(limit.take_left_out(), 100 - LogLimit::burst);
    EXPECT_EQ(limit.take_left_out(), 0u);
}

TEST(LogLimit, ThenAdmitsOneASecond) {
    LogLimit limit;
    admitted(limit, start, LogLimit::burst);
    EXPECT_EQ(admitted(limit, start + milliseconds(999), 5), 0u);
    EXPECT_EQ(admitted(limit, start + milliseconds(1001), 5), 1u);
    EXPECT_EQ(admitted(limit, start + milliseconds(1999), 5), 0u);
    EXPECT_EQ(admitted(limit, start + seconds(4), 5), 3u);
}

TEST(LogLimit, AfterAQuietTimeTheBurstIsWholeAgainAndNoLarger) {
    LogLimit limit;
    admitted(limit, start, LogLimit::burst);
    EXPECT_EQ(admitted(limit, start + std::chrono::hours(1), 100), LogLimit::burst);
}

}  // namespace
}  // namespace blkscope::nbd
