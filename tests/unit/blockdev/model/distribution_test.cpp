// The distributions of service times: texts, means, quantiles, and draws that repeat.
#include "blockdev/model/distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../../failure.hpp"

namespace blkscope::model {
namespace {

Histogram measured(const std::string& file) {
    if (file == "none") throw std::invalid_argument("'none' has no histogram");
    return {{{1000, 2000, 3}, {2000, 4000, 1}}};
}

Distribution distribution_of(std::string_view text) {
    return Distribution::parse(text, measured);
}

std::vector<double> sample_of(const Distribution& distribution, size_t count) {
    std::vector<double> sample;
    for (uint64_t n = 0; n < count; ++n) {
        Draws draws(20261123, 1, n);
        sample.push_back(distribution.draw_ns(draws));
    }
    return sample;
}

constexpr const char* canonical[] = {"const:1ms",       "uniform:1ms:3ms",    "exp:250us",
                                     "erlang:4:1ms",    "lognormal:1ms:10ms", "pareto:1ms:2.5",
                                     "empirical:a.json"};

TEST(Distribution, ParsesBackWhatItPrints) {
    for (const char* text : canonical) EXPECT_EQ(distribution_of(text).text(), text);
    EXPECT_EQ(distribution_of("const:1000us").text(), "const:1ms");
    EXPECT_EQ(distribution_of("pareto:1ms:2.50").text(), "pareto:1ms:2.5");
    EXPECT_EQ(distribution_of("empirical:/a:b,c;d").text(), "empirical:/a:b,c;d");
}

TEST(Distribution, IsEqualToOneWithTheSameDraws) {
    for (const char* one : canonical) {
        for (const char* other : canonical) {
            EXPECT_EQ(distribution_of(one) == distribution_of(other), one == other)
                << one << " " << other;
        }
    }
    EXPECT_EQ(distribution_of("const:1000us"), distribution_of("const:1ms"));
    const auto measured_anew = [](const std::string&) { return Histogram{{{1000, 2000, 4}}}; };
    EXPECT_FALSE(distribution_of("empirical:a") ==
                 Distribution::parse("empirical:a", measured_anew));
}

// A sum of counts that wraps would draw from no bucket.
TEST(Distribution, RefusesAHistogramThatNoDiskCanHave) {
    constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const auto failure = [](std::vector<Histogram::Bucket> buckets) {
        const auto reader = [&](const std::string&) { return Histogram{buckets}; };
        return failure_of([&] { return Distribution::parse("empirical:a", reader); });
    };
    const std::string lead = "distribution 'empirical:a': ";
    EXPECT_EQ(failure({}), lead + "the histogram is empty");
    EXPECT_EQ(failure({{0, 1, 0}}), lead + "a bucket of the histogram is empty");
    EXPECT_EQ(failure({{0, 1, 2}, {1, 2, most - 1}}),
              lead + "the counts of the histogram are too large");
    for (const Histogram::Bucket& bucket : std::vector<Histogram::Bucket>{
             {-1, 1, 1}, {2, 1, 1}, {0, 1e15, 1}, {nan, 1, 1}, {0, nan, 1}}) {
        EXPECT_EQ(failure({bucket}), lead + "a bucket of the histogram is not within 0 to a day");
    }
}

TEST(Distribution, HasTheMeanOfItsFormula) {
    EXPECT_DOUBLE_EQ(distribution_of("const:1ms").mean_ns(), 1e6);
    EXPECT_DOUBLE_EQ(distribution_of("uniform:1ms:3ms").mean_ns(), 2e6);
    EXPECT_DOUBLE_EQ(distribution_of("exp:250us").mean_ns(), 250e3);
    EXPECT_DOUBLE_EQ(distribution_of("erlang:4:1ms").mean_ns(), 1e6);
    EXPECT_DOUBLE_EQ(distribution_of("pareto:1ms:3").mean_ns(), 1.5e6);
    EXPECT_DOUBLE_EQ(distribution_of("empirical:a").mean_ns(), (3 * 1500 + 3000) / 4.0);
    const double sigma = std::log(10.0) / 2.3263478740408408;
    EXPECT_DOUBLE_EQ(distribution_of("lognormal:1ms:10ms").mean_ns(),
                     1e6 * std::exp(sigma * sigma / 2));
}

// Within four standard errors of the sample.
TEST(Distribution, DrawsHaveItsMean) {
    for (const char* text : canonical) {
        const Distribution distribution = distribution_of(text);
        const auto sample = sample_of(distribution, 200'000);
        double sum = 0;
        double squares = 0;
        for (const double ns : sample) {
            sum += ns;
            squares += ns * ns;
        }
        const auto count = static_cast<double>(sample.size());
        const double mean = sum / count;
        const double deviation = std::sqrt(std::max(squares / count - mean * mean, 0.0));
        EXPECT_NEAR(mean, distribution.mean_ns(), 4 * deviation / std::sqrt(count) + 1e-6) << text;
    }
}

double quantile(std::vector<double> sample, double share) {
    const auto at =
        sample.begin() + static_cast<int64_t>(share * static_cast<double>(sample.size()));
    std::nth_element(sample.begin(), at, sample.end());
    return *at;
}

TEST(Distribution, DrawsHaveItsQuantiles) {
    const auto lognormal = sample_of(distribution_of("lognormal:1ms:10ms"), 200'000);
    EXPECT_NEAR(quantile(lognormal, 0.5), 1e6, 1e4);
    EXPECT_NEAR(quantile(lognormal, 0.99), 10e6, 2e5);
    const auto exponential = sample_of(distribution_of("exp:1ms"), 200'000);
    EXPECT_NEAR(quantile(exponential, 0.5), std::log(2.0) * 1e6, 1e4);
    const auto pareto = sample_of(distribution_of("pareto:1ms:3"), 200'000);
    EXPECT_NEAR(quantile(pareto, 0.875), 2e6, 2e4);
    const auto empirical = sample_of(distribution_of("empirical:a"), 200'000);
    EXPECT_NEAR(quantile(empirical, 0.75), 2000, 10);
    EXPECT_NEAR(quantile(empirical, 0.375), 1500, 10);
}

TEST(Distribution, DrawsAreAFunctionOfSeedStreamAndNumber) {
    const Distribution distribution = distribution_of("exp:1ms");
    const auto draw = [&](uint64_t seed, uint64_t stream, uint64_t number) {
        Draws draws(seed, stream, number);
        return distribution.draw_ns(draws);
    };
    EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
    EXPECT_NE(draw(1, 2, 3), draw(2, 2, 3));
    EXPECT_NE(draw(1, 2, 3), draw(1, 3, 3));
    EXPECT_NE(draw(1, 2, 3), draw(1, 2, 4));
}

// Neighbouring numbers and streams give independent draws.
TEST(Draws, NeighboursDoNotCorrelate) {
    double by_number = 0;
    double by_stream = 0;
    constexpr int count = 100'000;
    for (uint64_t n = 0; n < count; ++n) {
        const double here = Draws(7, 0, n).share() - 0.5;
        by_number += here * (Draws(7, 0, n + 1).share() - 0.5);
        by_stream += here * (Draws(7, 1, n).share() - 0.5);
    }
    const double four_errors = 4.0 / 12 / std::sqrt(count);
    EXPECT_NEAR(by_number / count, 0, four_errors);
    EXPECT_NEAR(by_stream / count, 0, four_errors);
}

TEST(Distribution, WarnsOfAParetoWithoutVariance) {
    EXPECT_EQ(distribution_of("pareto:1ms:2").warning(),
              "pareto:1ms:2 has no variance: means of long runs still differ");
    EXPECT_EQ(distribution_of("pareto:1ms:2.1").warning(), "");
    EXPECT_EQ(distribution_of("exp:1ms").warning(), "");
}

TEST(Distribution, ABadTextIsRefusedInOneLine) {
    const auto failure = [](std::string_view text) {
        return failure_of([&] { return distribution_of(text); });
    };
    EXPECT_EQ(failure("gauss:1ms"),
              "distribution 'gauss:1ms': unknown: not const, uniform, exp, erlang, lognormal, "
              "pareto or empirical");
    EXPECT_EQ(failure("const:-1ms"), "distribution 'const:-1ms': time '-1ms' is negative");
    EXPECT_EQ(failure("const"), "distribution 'const': time '' is no number");
    EXPECT_EQ(failure("uniform:3ms:1ms"), "distribution 'uniform:3ms:1ms': B is less than A");
    EXPECT_EQ(failure("uniform:3ms"), "distribution 'uniform:3ms': not of the form uniform:A:B");
    EXPECT_EQ(
        failure("exp:1ms:2ms"),
        "distribution 'exp:1ms:2ms': time '1ms:2ms' has an unknown unit: not ns, us, ms or s");
    EXPECT_EQ(failure("erlang:0:1ms"), "distribution 'erlang:0:1ms': K '0' is less than 1");
    EXPECT_EQ(failure("erlang:1001:1ms"), "distribution 'erlang:1001:1ms': K is more than 1000");
    EXPECT_EQ(failure("lognormal:2ms:1ms"),
              "distribution 'lognormal:2ms:1ms': P99 is less than P50");
    EXPECT_EQ(failure("lognormal:0s:1ms"), "distribution 'lognormal:0s:1ms': P50 is zero");
    EXPECT_EQ(failure("pareto:1ms:1"),
              "distribution 'pareto:1ms:1': ALPHA is not above 1: there is no mean");
    EXPECT_EQ(failure("pareto:0s:2"), "distribution 'pareto:0s:2': MIN is zero");
    EXPECT_EQ(failure("empirical:none"), "distribution 'empirical:none': 'none' has no histogram");
    EXPECT_EQ(failure("empirical:"), "distribution 'empirical:': not of the form empirical:FILE");
}

}  // namespace
}  // namespace blkscope::model
