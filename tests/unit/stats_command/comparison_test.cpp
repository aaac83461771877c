#include "tools/stats/comparison.hpp"

#include <gtest/gtest.h>

#include "looks.hpp"

namespace blkscope::stats_command {
namespace {

TEST(StatsComparison, PutsAVariableBesideTheHistogramOfItsName) {
    const Row row = compare(a_device()).at(0);
    EXPECT_EQ(row.name, "read_service");
    EXPECT_EQ(row.unit, "ns");
    ASSERT_TRUE(row.digest && row.histogram);
    EXPECT_EQ(row.digest->count, 10u);
    EXPECT_EQ(row.digest->mean, 1500);
    EXPECT_EQ(row.digest->min, 900);
    EXPECT_EQ(row.digest->quantiles[0], 1234.5);
    EXPECT_EQ(row.digest->quantiles[3], 2.5e6);
    EXPECT_EQ(row.histogram->count, 100u);
    EXPECT_EQ(row.histogram->mean, 2500);
    EXPECT_FALSE(row.histogram->min);
}

TEST(StatsComparison, TakesReadsAndWritesTogetherWhereTheVariableHasBoth) {
    const Row row = compare(a_device()).at(1);
    EXPECT_EQ(row.name, "size");
    EXPECT_EQ(row.unit, "bytes");
    ASSERT_TRUE(row.histogram);
    EXPECT_EQ(row.histogram->count, 2u);
    EXPECT_FALSE(row.histogram->mean);  // the histogram has no sum of its values
}

TEST(StatsComparison, HasNoHistogramWhereTheDeviceHasNone) {
    Device device = a_device();
    EXPECT_FALSE(compare(device).at(2).histogram);
    device.histograms.clear();
    for (const Row& row : compare(device)) EXPECT_FALSE(row.histogram);
}

// A percentile of the histogram is the upper end of its bucket, as iostat shows it.
TEST(StatsComparison, BoundsTheQuantilesByTheHistogram) {
    const Device device = a_device();
    const Row row = compare(device).at(0);
    const iostat::Histogram& histogram = device.histograms.at("read_service");
    EXPECT_EQ(row.histogram->quantiles[0],
              static_cast<double>(*iostat::percentile(histogram, kstat2::p50)));
    EXPECT_EQ(row.histogram->quantiles[2],
              static_cast<double>(*iostat::percentile(histogram, kstat2::p99)));
    EXPECT_LT(row.histogram->quantiles[1], row.histogram->quantiles[2]);
}

}  // namespace
}  // namespace blkscope::stats_command
