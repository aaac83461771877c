#include "tools/top/heatmap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "looks.hpp"
#include "tools/top/screen.hpp"

namespace blkscope::top {
namespace {

// A column with these counts in the buckets of decades().
Column column_of(std::vector<uint64_t> wait, std::vector<uint64_t> service) {
    wait.resize(decades()->size());
    service.resize(decades()->size());
    return {.elapsed_ns = one_second,
            .bounds = decades(),
            .wait = std::move(wait),
            .service = std::move(service)};
}

double sum(const Map& map) {
    return std::accumulate(map.counts.begin(), map.counts.end(), 0.0);
}

TEST(TopHeatmap, TheSlowEndIsOnTop) {
    History history;
    history.add(column_of({0, 0, 7}, {0, 0, 0, 0, 9}));  // 10-100 us; 1-10 ms
    const Heatmaps maps = heatmaps(history, 1, 3);
    EXPECT_NEAR(maps.span.low, 4, 1e-9);
    EXPECT_NEAR(maps.span.high, 7, 1e-9);
    EXPECT_NEAR(maps.count(maps.service, 0, 0), 9, 1e-6);
    EXPECT_NEAR(maps.count(maps.wait, 0, 2), 7, 1e-6);
    EXPECT_NEAR(maps.row_floor_ns(0), 1e6, 1);
    EXPECT_NEAR(maps.row_floor_ns(2), 1e4, 1e-2);
}

TEST(TopHistory, HasNoEmptyBucketsBehindTheLastCount) {
    History history;
    history.add(column_of({0, 3, 0, 1}, {}));
    EXPECT_EQ(history.ago(0).wait, (std::vector<uint64_t>{0, 3, 0, 1}));
    EXPECT_TRUE(history.ago(0).service.empty());
    EXPECT_EQ(history.ago(0).service.capacity(), 0u);
}

TEST(TopHeatmap, TheNewestIntervalIsAtTheRight) {
    History history;
    history.add(column_of({0, 1}, {}));
    history.add(column_of({0, 0, 1}, {}));
    const Heatmaps maps = heatmaps(history, 4, 2);
    EXPECT_NEAR(maps.count(maps.wait, 3, 0), 1, 1e-6);
    EXPECT_NEAR(maps.count(maps.wait, 2, 1), 1, 1e-6);
    EXPECT_EQ(maps.wait.p99_row, (std::vector<int>{-1, -1, 1, 0}));
}

// For all sizes of rows and buckets, each request is drawn exactly once.
TEST(TopHeatmap, TheCellsOfAMapAddUpToItsRequests) {
    std::mt19937 random(20261121);
    History history;
    uint64_t wait = 0;
    uint64_t service = 0;
    for (int i = 0; i < 20; ++i) {
        std::vector<uint64_t> one(decades()->size());
        std::vector<uint64_t> other(decades()->size());
        for (uint64_t& count : one) wait += count = random() % 3 * (random() % 1000);
        for (uint64_t& count : other) service += count = random() % 2 * (random() % 1000);
        history.add(column_of(one, other));
    }
    for (int rows = 1; rows <= 40; ++rows) {
        const Heatmaps maps = heatmaps(history, 25, rows);
        EXPECT_NEAR(sum(maps.wait), static_cast<double>(wait), 0.01) << rows;
        EXPECT_NEAR(sum(maps.service), static_cast<double>(service), 0.01) << rows;
    }
}

TEST(TopHeatmap, ABucketThatCoversRowsLeavesNoneOfThemEmpty) {
    History history;
    history.add(column_of({0, 0, 10}, {}));
    const Heatmaps maps = heatmaps(history, 1, 8);
    for (int row = 0; row < 8; ++row) EXPECT_NEAR(maps.count(maps.wait, 0, row), 10.0 / 8, 1e-6);
}

TEST(TopHeatmap, BothMapsHaveOneScale) {
    History history;
    history.add(column_of({0, 1}, {0, 0, 0, 0, 0, 0, 1'000'000}));
    const Heatmaps maps = heatmaps(history, 1, 6);
    EXPECT_NEAR(maps.most, 1e6, 1);
    EXPECT_EQ(maps.level(maps.count(maps.service, 0, 0)), heat_levels);
    EXPECT_EQ(maps.level(maps.count(maps.wait, 0, 5)), 1);
}

TEST(TopHeatmap, LevelsAreOfTheLogarithmAndReachFromOneToAll) {
    Heatmaps maps;
    maps.most = 1'000'000;
    EXPECT_EQ(maps.level(0), 0);
    EXPECT_EQ(maps.level(0.01), 1);
    EXPECT_EQ(maps.level(999), heat_levels / 2);  // half of the logarithm of the largest count
    EXPECT_EQ(maps.level(1'000'000), heat_levels);
    int last = 0;
    for (double count = 1; count <= maps.most; count *= 1.5) {
        EXPECT_GE(maps.level(count), last);
        last = maps.level(count);
    }
    maps.most = 0;
    EXPECT_EQ(maps.level(5), 0);
}

TEST(TopHeatmap, TheP99LineIsWhereNinetyNineOfAHundredAreBelow) {
    History history;
    history.add(column_of({0, 99, 0, 1}, {0, 98, 0, 2}));
    const Heatmaps maps = heatmaps(history, 1, 3);
    EXPECT_EQ(maps.wait.p99_row[0], 2);
    EXPECT_EQ(maps.service.p99_row[0], 0);
}

TEST(TopHeatmap, WithoutRequestsThereIsAScaleAndNothingOnIt) {
    History history;
    history.add(column_of({}, {}));
    history.add({.elapsed_ns = one_second, .bounds = nullptr, .wait = {}, .service = {}});
    const Heatmaps maps = heatmaps(history, 2, 4);
    EXPECT_LT(maps.span.low, maps.span.high);
    EXPECT_EQ(sum(maps.wait) + sum(maps.service), 0);
    EXPECT_EQ(maps.wait.p99_row, (std::vector<int>{-1, -1}));
}

TEST(TopHeatmap, OnlyWhatIsInSightSetsTheScale) {
    History history;
    history.add(column_of({0, 0, 0, 0, 0, 0, 0, 1}, {}));
    history.add(column_of({0, 1}, {}));
    EXPECT_NEAR(heatmaps(history, 1, 4).span.high, 4, 1e-9);
    EXPECT_NEAR(heatmaps(history, 2, 4).span.high, 10, 1e-9);
}

TEST(TopHeatmap, AMapWithoutRoomIsEmpty) {
    History history;
    history.add(column_of({0, 1}, {0, 1}));
    EXPECT_TRUE(heatmaps(history, 0, 5).wait.counts.empty());
    EXPECT_TRUE(heatmaps(history, 5, 0).wait.counts.empty());
    EXPECT_TRUE(heatmaps(history, -1, -1).wait.counts.empty());
}

TEST(TopHeatmap, TheOuterBucketsHaveAPlaceOnTheAxis) {
    const Span first = bucket_span(*decades(), 0);
    EXPECT_NEAR(first.low, std::log10(500), 1e-9);
    EXPECT_NEAR(first.high, 3, 1e-9);
    const Span last = bucket_span(*decades(), decades()->size() - 1);
    EXPECT_NEAR(last.low, 11, 1e-9);
    EXPECT_NEAR(last.high, std::log10(2e11), 1e-9);
}

TEST(TopHeatmap, TheScaleBeginsAndEndsAtAOneATwoOrAFive) {
    const Bounds fine = std::make_shared<const std::vector<uint64_t>>(
        std::vector<uint64_t>{0, 3'000, 4'000, 60'000, 70'000});
    History history;
    history.add({.elapsed_ns = 1, .bounds = fine, .wait = {0, 1, 0, 1}, .service = {}});
    const Heatmaps maps = heatmaps(history, 1, 4);
    EXPECT_NEAR(maps.span.low, std::log10(2'000), 1e-9);
    EXPECT_NEAR(maps.span.high, 5, 1e-9);
}

TEST(TopPercentiles, AreTheUpperEndsOfTheirBuckets) {
    History history;
    history.add(column_of({0, 60, 39, 1}, {}));
    const auto found = percentiles(history, 1, &Column::wait);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->p50_ns, 9'999u);
    EXPECT_EQ(found->p99_ns, 99'999u);
    EXPECT_FALSE(percentiles(history, 1, &Column::service));
}

TEST(TopPercentiles, OfSeveralIntervalsAreThoseOfAllTheirRequests) {
    History history;
    history.add(column_of({0, 0, 0, 5}, {}));
    history.add(column_of({0, 995}, {}));
    EXPECT_EQ(percentiles(history, 1, &Column::wait)->p99_ns, 9'999u);
    EXPECT_EQ(percentiles(history, 2, &Column::wait)->p99_ns, 9'999u);
    history.add(column_of({0, 0, 0, 100}, {}));
    EXPECT_EQ(percentiles(history, 3, &Column::wait)->p99_ns, 999'999u);
}

TEST(TopPercentiles, TheLastBucketHasNoUpperEnd) {
    History history;
    std::vector<uint64_t> slow(decades()->size());
    slow.back() = 1;
    history.add(column_of(slow, {}));
    EXPECT_EQ(percentiles(history, 1, &Column::wait)->p99_ns, std::numeric_limits<uint64_t>::max());
}

TEST(TopPercentiles, IntervalsOfAnotherShapeAreNotAddedUp) {
    const Bounds other =
        std::make_shared<const std::vector<uint64_t>>(std::vector<uint64_t>{0, 5'000, 50'000});
    History history;
    history.add({.elapsed_ns = 1, .bounds = other, .wait = {0, 0, 1'000}, .service = {0, 0, 0}});
    history.add(column_of({0, 1}, {}));
    EXPECT_EQ(percentiles(history, 2, &Column::wait)->p99_ns, 9'999u);
}

}  // namespace
}  // namespace blkscope::top
