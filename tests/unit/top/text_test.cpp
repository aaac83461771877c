#include "tools/top/text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace blkscope::top {
namespace {

constexpr hrtime_t second = 1'000'000'000;

TEST(TopText, LatenciesHaveThreeDigitsAndAUnit) {
    EXPECT_EQ(latency_text(0), "0ns");
    EXPECT_EQ(latency_text(999), "999ns");
    EXPECT_EQ(latency_text(1'499), "1.5us");
    EXPECT_EQ(latency_text(1'999), "2us");
    EXPECT_EQ(latency_text(12'000), "12us");
    EXPECT_EQ(latency_text(999'499), "999us");
    EXPECT_EQ(latency_text(999'500), "1ms");
    EXPECT_EQ(latency_text(2'500'000'000), "2.5s");
    EXPECT_EQ(latency_text(100'000'000'000), "100s");
}

TEST(TopText, NoLatencyIsWiderThanSixCharacters) {
    for (uint64_t ns = 1; ns < 100'000'000'000; ns += ns / 7 + 1) {
        EXPECT_LE(latency_text(ns).size(), 6u) << ns;
    }
}

TEST(TopText, ABucketWithoutAnEndEndsAtInf) {
    EXPECT_EQ(latency_text(std::numeric_limits<uint64_t>::max()), "inf");
}

TEST(TopText, SizesAreInPowersOf1024) {
    EXPECT_EQ(size_text(512), "512 B");
    EXPECT_EQ(size_text(4096), "4096 B");
    EXPECT_EQ(size_text(uint64_t{64} << 20), "64 MiB");
    EXPECT_EQ(size_text(uint64_t{3} << 39), "1.5 TiB");
    EXPECT_EQ(size_text(1000 << 10), "1000 KiB");
}

TEST(TopText, UptimesCountDays) {
    EXPECT_EQ(uptime_text(192 * second), "0:03:12");
    EXPECT_EQ(uptime_text((86400 + 3 * 3600 + 4) * second), "1d 3:00:04");
}

TEST(TopText, SpansAreAsExactAsAGlanceTakes) {
    EXPECT_EQ(span_text(second / 5), "200ms");
    EXPECT_EQ(span_text(second), "1s");
    EXPECT_EQ(span_text(second + second / 2), "1.5s");
    EXPECT_EQ(span_text(20 * second + 3'000'000), "20s");
    EXPECT_EQ(span_text(120 * second), "2m");
    EXPECT_EQ(span_text(150 * second), "2m30s");
    EXPECT_EQ(span_text(3900 * second), "1h05m");
}

}  // namespace
}  // namespace blkscope::top
