#include "tools/iostat/histograms.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

TEST(IostatHistograms, AnIntervalIsTheDifferenceOfTheCounts) {
    const Histograms before{{"read_wait", times({{5'000, 10}, {70'000, 3}})}};
    const Histograms now{{"read_wait", times({{5'000, 11}, {70'000, 3}, {2'000'000, 7}})}};
    const Histogram since = difference(before, now).at("read_wait");
    EXPECT_EQ(since.count(), 8u);
    EXPECT_EQ(since.counts[since.shape.index(5'000)], 1u);
    EXPECT_EQ(since.counts[since.shape.index(70'000)], 0u);
    EXPECT_EQ(since.counts[since.shape.index(2'000'000)], 7u);
    EXPECT_EQ(since.sum, 5'000u + 7 * 2'000'000u);
}

TEST(IostatHistograms, OneThatWasMadeAnewCountsSinceThen) {
    const Histograms before{{"read_wait", times({{5'000, 10}})}};
    Histograms now{{"read_wait", times({{5'000, 12}})}};
    now.at("read_wait").crtime = 77;
    EXPECT_EQ(difference(before, now).at("read_wait").count(), 12u);
    EXPECT_EQ(difference({}, now).at("read_wait").count(), 12u);
}

TEST(IostatHistograms, OneOfAnotherShapeIsAnother) {
    const Histograms before{{"read_wait", powers({{5'000, 10}})}};
    const Histograms now{{"read_wait", times({{5'000, 12}})}};
    EXPECT_EQ(difference(before, now).at("read_wait").count(), 12u);
}

TEST(IostatHistograms, TransfersAreReadsAndWrites) {
    const Histograms both{{"read_wait", times({{5'000, 10}})},
                          {"write_wait", times({{5'000, 1}, {9'000'000, 2}})},
                          {"trim_wait", times({{5'000, 99}})}};
    const auto sum = of_transfers(both, "wait");
    ASSERT_TRUE(sum.has_value());
    EXPECT_EQ(sum->count(), 13u);
    EXPECT_EQ(sum->counts[sum->shape.index(5'000)], 11u);
    EXPECT_EQ(sum->sum, 11 * 5'000u + 2 * 9'000'000u);
    EXPECT_FALSE(of_transfers(both, "service").has_value());
}

TEST(IostatHistograms, APercentileIsTheUpperEndOfItsBucket) {
    const Histogram histogram = times({{5'100, 50}, {70'000, 49}, {2'000'000'000'000, 1}});
    EXPECT_EQ(percentile(histogram, kstat2::p50), 5'499u);
    EXPECT_EQ(percentile(histogram, kstat2::p99), 74'999u);
    EXPECT_EQ(percentile(histogram, kstat2::whole), 100'000'000'000u);  // at least this
    EXPECT_EQ(percentile(times({}), kstat2::p50), std::nullopt);
}

}  // namespace
}  // namespace blkscope::iostat
