// Whether responses grow, judged from queues whose answer is known: one server, first come first served.
#include "blockdev/virtual_time/response_trend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace blkscope::queueing {
namespace {

constexpr double service_ns = 1e6;

/// Of runs with so many requests at this load, the share that is called saturated.
double called_saturated(int requests, double load) {
    std::mt19937_64 random(20261129);
    std::exponential_distribution<double> times;
    constexpr int runs = 100;
    int called = 0;
    for (int run = 0; run < runs; ++run) {
        virtual_time::ResponseTrend trend;
        double now = 0;
        double free = 0;
        for (int i = 0; i < requests; ++i) {
            now += times(random) * service_ns / load;
            free = std::max(free, now) + times(random) * service_ns;
            trend.ended(static_cast<uint64_t>(i), std::llround(free - now));
        }
        if (trend.grows_within(std::llround(now))) ++called;
    }
    return static_cast<double>(called) / runs;
}

TEST(ResponseTrend, ALoadAboveTheCapacityGrows) {
    EXPECT_EQ(called_saturated(100, 2), 1);
    EXPECT_EQ(called_saturated(1000, 1.3), 1);
    EXPECT_EQ(called_saturated(20'000, 1.1), 1);
}

TEST(ResponseTrend, ALoadBelowTheCapacityDoesNot) {
    for (const int requests : {5, 20, 100, 1000}) {
        EXPECT_LE(called_saturated(requests, 0.5), 0.02) << requests;
    }
    EXPECT_LE(called_saturated(1000, 0.9), 0.02);
    EXPECT_EQ(called_saturated(20'000, 0.95), 0);
}

TEST(ResponseTrend, EvenStaysHaveNone) {
    virtual_time::ResponseTrend trend;
    for (uint64_t i = 0; i < 1000; ++i) trend.ended(i, 5'000);
    EXPECT_FALSE(trend.grows_within(1'000'000));
    EXPECT_EQ(trend.typical_ns(), 5'000);
}

TEST(ResponseTrend, EndsMayComeInAnyOrder) {
    virtual_time::ResponseTrend forwards;
    virtual_time::ResponseTrend backwards;
    for (uint64_t i = 0; i < 1000; ++i) {
        forwards.ended(i, static_cast<hrtime_t>(i * 100));
        backwards.ended(999 - i, static_cast<hrtime_t>((999 - i) * 100));
    }
    EXPECT_DOUBLE_EQ(forwards.growth().ns, backwards.growth().ns);
    EXPECT_TRUE(forwards.grows_within(100'000));
}

TEST(ResponseTrend, ABurstThatEndsIsNoGrowth) {
    virtual_time::ResponseTrend trend;
    for (uint64_t i = 0; i < 1000; ++i) trend.ended(i, i / 100 == 4 ? 900'000 : 1'000);
    EXPECT_FALSE(trend.grows_within(10'000'000));
}

}  // namespace
}  // namespace blkscope::queueing
