#include "tools/check/duration.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace blkscope::check {
namespace {

using std::chrono::milliseconds;

TEST(CheckDuration, ATimeHasAUnitAndIsADayAtMost) {
    EXPECT_EQ(duration_of("500ms"), milliseconds(500));
    EXPECT_EQ(duration_of("10s"), milliseconds(10'000));
    EXPECT_EQ(duration_of("2m"), milliseconds(120'000));
    EXPECT_EQ(duration_of("86400s"), milliseconds(86'400'000));
    for (const char* text : {"", "5", "s", "0s", "-5s", "5 s", "1.5s", "5h", "5ss", "86401s",
                             "1441m", "99999999999999999999s"}) {
        EXPECT_FALSE(duration_of(text)) << text;
    }
}

}  // namespace
}  // namespace blkscope::check
