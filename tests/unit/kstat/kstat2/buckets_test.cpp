#include "kstat/histogram/buckets.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace {

using blkscope::kstat2::Buckets;

constexpr uint64_t value_max = UINT64_MAX;
constexpr uint64_t pow10(unsigned exponent) {
    return blkscope::kstat2::detail::powers_of_10[exponent];
}

Buckets linear(uint64_t low, uint64_t high, uint64_t step) {
    return {KSTAT2_NVHIST_LINEAR, low, high, step};
}
Buckets log2() {
    return {KSTAT2_NVHIST_LOG2, 7, 8, 9};
}
Buckets log10() {
    return {KSTAT2_NVHIST_LOG10, 7, 8, 9};
}
Buckets decades(uint64_t first, uint64_t last, uint64_t steps) {
    return {KSTAT2_NVHIST_LOG10_LIN, first, last, steps};
}

struct Vector {
    uint64_t value;
    uint32_t index;
};

void expect_indexes(const Buckets& buckets, std::initializer_list<Vector> vectors) {
    ASSERT_EQ(buckets.why_invalid(), nullptr);
    for (const auto& [value, index] : vectors) EXPECT_EQ(buckets.index(value), index) << value;
}

// The definition, with the divisions that index() does without.
uint32_t slow_decade_index(const Buckets& shape, uint64_t value) {
    const uint64_t steps = shape.stepping();
    const uint64_t per = steps - steps / 10;
    if (value < pow10(static_cast<unsigned>(shape.range_min()))) return 0;
    if (value >= pow10(static_cast<unsigned>(shape.range_max()) + 1)) return shape.count() - 1;
    unsigned k = 0;
    while (k + 1 < 20 && pow10(k + 1) <= value) ++k;
    const uint64_t width = pow10(k + 1) / steps;
    return static_cast<uint32_t>(1 + (k - shape.range_min()) * per + value / width -
                                 pow10(k) / width);
}

// Every kind of shape that is worth a law.
std::vector<Buckets> shapes() {
    return {linear(0, 1024, 128),
            linear(100, 500, 100),
            linear(0, 1, 1),
            linear(0, 65533, 1),
            linear(5, 0, 3),
            linear(0, 0, 1),
            linear(0, 0, uint64_t{1} << 63),
            linear(value_max - 2, 0, 1),
            linear(value_max - 4, value_max, 2),
            log2(),
            log10(),
            decades(2, 4, 5),
            decades(2, 2, 25),
            decades(0, 18, 1),
            decades(0, 18, 10),
            decades(3, 9, 20),
            decades(3, 9, 100),
            decades(1, 18, 25),
            decades(18, 18, 1000),
            decades(4, 4, 12500)};
}

// The values where something can go wrong: around every boundary, and random ones of every size.
std::vector<uint64_t> probes(const Buckets& buckets) {
    std::vector<uint64_t> values{0, 1, value_max - 1, value_max};
    for (uint32_t i = 0; i < buckets.count(); ++i) {
        const uint64_t low = buckets.lower(i);
        values.insert(values.end(), {low - 1, low, low + 1});
    }
    std::mt19937_64 random(20260721);
    for (unsigned i = 0; i < 20'000; ++i) values.push_back(random() >> (i % 64));
    return values;
}

TEST(Kstat2Buckets, ALinearHistogramFromZeroHasABucketForZeroAlone) {
    const Buckets buckets = linear(0, 1024, 128);
    EXPECT_EQ(buckets.count(), 10U);
    expect_indexes(buckets,
                   {{0, 0}, {1, 1}, {127, 1}, {128, 2}, {1023, 8}, {1024, 9}, {value_max, 9}});
}

TEST(Kstat2Buckets, ALinearHistogramPutsWhatIsBelowTheRangeIntoTheFirstBucket) {
    expect_indexes(linear(100, 500, 100), {{99, 0}, {100, 1}, {499, 4}, {500, 5}});
}

TEST(Kstat2Buckets, ALinearHistogramWithoutABoundEndsAtTheLastOf65535Buckets) {
    const Buckets buckets = linear(0, 0, 1);
    EXPECT_FALSE(buckets.is_bounded());
    EXPECT_EQ(buckets.count(), 65535U);
    expect_indexes(buckets, {{0, 0}, {1, 2}, {65532, 65533}, {65533, 65534}, {value_max, 65534}});
    EXPECT_EQ(linear(0, 0, uint64_t{1} << 63).count(), 3U);
}

TEST(Kstat2Buckets, Log2CountsBinaryDigits) {
    EXPECT_EQ(log2().count(), 65U);
    expect_indexes(log2(), {{0, 0},
                            {1, 1},
                            {2, 2},
                            {3, 2},
                            {4, 3},
                            {uint64_t{1} << 62, 63},
                            {(uint64_t{1} << 63) - 1, 63},
                            {uint64_t{1} << 63, 64},
                            {value_max, 64}});
}

TEST(Kstat2Buckets, Log10CountsDecimalDigits) {
    EXPECT_EQ(log10().count(), 21U);
    expect_indexes(log10(), {{0, 0},
                             {1, 1},
                             {9, 1},
                             {10, 2},
                             {pow10(15) - 1, 15},
                             {pow10(19) - 1, 19},
                             {pow10(19), 20},
                             {value_max, 20}});
}

TEST(Kstat2Buckets, DecadesAreInclusiveAndTheirFirstStepMayBeShort) {
    EXPECT_EQ(decades(2, 4, 5).count(), 17U);
    expect_indexes(decades(2, 4, 5), {{99, 0},
                                      {100, 1},
                                      {199, 1},
                                      {200, 2},
                                      {999, 5},
                                      {1000, 6},
                                      {1999, 6},
                                      {2000, 7},
                                      {9999, 10},
                                      {10000, 11},
                                      {99999, 15},
                                      {100000, 16}});
    expect_indexes(decades(2, 2, 25),
                   {{100, 1}, {119, 1}, {120, 2}, {160, 3}, {999, 23}, {1000, 24}});
}

TEST(Kstat2Buckets, DecadesHaveTheNumberOfBucketsThatTheirStepsMake) {
    EXPECT_EQ(decades(3, 9, 20).count(), 128U);
    EXPECT_EQ(decades(3, 9, 100).count(), 632U);
    EXPECT_EQ(decades(0, 18, 10).count(), 173U);
}

TEST(Kstat2Buckets, EveryBucketHoldsExactlyItsOwnInterval) {
    for (const Buckets& buckets : shapes()) {
        ASSERT_EQ(buckets.why_invalid(), nullptr);
        EXPECT_EQ(buckets.lower(0), 0U);
        EXPECT_EQ(buckets.upper(buckets.count() - 1), value_max);
        for (uint32_t i = 0; i < buckets.count(); ++i) {
            if (i > 0) {
                ASSERT_EQ(buckets.lower(i), buckets.upper(i - 1) + 1) << i;
            }
            if (buckets.upper(i) < buckets.lower(i)) continue;  // an empty one
            ASSERT_EQ(buckets.index(buckets.lower(i)), i);
            ASSERT_EQ(buckets.index(buckets.upper(i)), i);
        }
    }
}

TEST(Kstat2Buckets, EveryValueLiesInTheBucketThatItIsCountedIn) {
    for (const Buckets& buckets : shapes()) {
        for (const uint64_t value : probes(buckets)) {
            const uint32_t i = buckets.index(value);
            ASSERT_LT(i, buckets.count());
            ASSERT_LE(buckets.lower(i), value);
            ASSERT_GE(buckets.upper(i), value);
        }
    }
}

TEST(Kstat2Buckets, TheIndexWithoutDivisionsIsTheOneOfTheDefinition) {
    for (const Buckets& buckets : shapes()) {
        if (buckets.type() != KSTAT2_NVHIST_LOG10_LIN) continue;
        for (const uint64_t value : probes(buckets)) {
            ASSERT_EQ(buckets.index(value), slow_decade_index(buckets, value)) << value;
        }
    }
}

TEST(Kstat2Buckets, Log10IsDecadesOfOneStep) {
    const Buckets one_step = decades(0, 18, 1);
    ASSERT_EQ(one_step.count(), log10().count());
    for (const uint64_t value : probes(log10())) {
        ASSERT_EQ(one_step.index(value), log10().index(value)) << value;
    }
}

TEST(Kstat2Buckets, StepsThatAreAMultipleOfTenDivideADecadeEvenly) {
    for (const uint64_t steps : {10u, 20u, 50u, 100u}) {
        const Buckets buckets = decades(2, 4, steps);
        for (uint64_t value = 100; value < 100'000; ++value) {
            const unsigned k = value < 1000 ? 2 : value < 10'000 ? 3 : 4;
            const uint64_t offset = (value - pow10(k)) / (pow10(k + 1) / steps);
            const uint64_t even = 1 + (k - 2) * (steps - steps / 10) + offset;
            ASSERT_EQ(buckets.index(value), even) << value;
        }
    }
}

TEST(Kstat2Buckets, TheLogarithmicOnesIgnoreTheRange) {
    const Buckets bare(KSTAT2_NVHIST_LOG2, 0, 0, 0);
    EXPECT_EQ(bare.why_invalid(), nullptr);
    EXPECT_EQ(bare.index(1000), log2().index(1000));
    EXPECT_EQ(Buckets(KSTAT2_NVHIST_LOG10, 9, 1, 0).why_invalid(), nullptr);
}

TEST(Kstat2Buckets, AreKnownAtCompileTime) {
    static constexpr Buckets buckets(KSTAT2_NVHIST_LOG10_LIN, 3, 9, 20);
    static_assert(buckets.count() == 128 && buckets.index(1499) == 1);
    static_assert(buckets.index(1500) == 2);
    static_assert(buckets.lower(1) == 1000 && buckets.upper(127) == value_max);
    EXPECT_EQ(buckets.index(0), 0U);
}

struct Bad {
    int type;
    uint64_t range_min, range_max, stepping;
    std::string reason;
};

TEST(Kstat2Buckets, SayWhatIsWrongWithAShape) {
    const Bad table[] = {
        {4, 0, 0, 0, "unknown histogram type"},
        {KSTAT2_NVHIST_LINEAR, 0, 100, 0, "stepping is 0"},
        {KSTAT2_NVHIST_LINEAR, 0, 0, 0, "stepping is 0"},
        {KSTAT2_NVHIST_LINEAR, 100, 100, 1, "range_max is not above range_min"},
        {KSTAT2_NVHIST_LINEAR, 100, 50, 1, "range_max is not above range_min"},
        {KSTAT2_NVHIST_LINEAR, 0, 100, 30, "stepping does not divide range_max - range_min"},
        {KSTAT2_NVHIST_LINEAR, 0, 100, 200, "stepping does not divide range_max - range_min"},
        {KSTAT2_NVHIST_LINEAR, 0, 65534, 1, "more than 65535 buckets"},
        {KSTAT2_NVHIST_LINEAR, 0, value_max, 1, "more than 65535 buckets"},
        {KSTAT2_NVHIST_LOG10_LIN, 0, 1, 0, "stepping is 0"},
        {KSTAT2_NVHIST_LOG10_LIN, 5, 4, 10, "range_min is above range_max"},
        {KSTAT2_NVHIST_LOG10_LIN, 2, 19, 10, "range_max is above 18"},
        {KSTAT2_NVHIST_LOG10_LIN, 2, value_max, 10, "range_max is above 18"},
        {KSTAT2_NVHIST_LOG10_LIN, 2, 4, 3,
         "stepping does not divide the first decade into whole steps"},
        {KSTAT2_NVHIST_LOG10_LIN, 0, 4, 25,
         "stepping does not divide the first decade into whole steps"},
        {KSTAT2_NVHIST_LOG10_LIN, 17, 18, pow10(18), "more than 65535 buckets"},
        {KSTAT2_NVHIST_LOG10_LIN, 4, 4, 100'000, "more than 65535 buckets"},
    };
    for (const Bad& bad : table) {
        const Buckets buckets(static_cast<kstat2_nv_hist_type_t>(bad.type), bad.range_min,
                              bad.range_max, bad.stepping);
        ASSERT_NE(buckets.why_invalid(), nullptr) << bad.reason;
        EXPECT_EQ(buckets.why_invalid(), bad.reason);
    }
}

}  // namespace
