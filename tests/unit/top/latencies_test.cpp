#include "tools/top/latencies.hpp"

#include <gtest/gtest.h>

namespace blkscope::top {
namespace {

using iostat::Histogram;
using iostat::Histograms;

constexpr kstat2::Buckets decades_shape(KSTAT2_NVHIST_LOG10_LIN, 3, 10, 1);

Histogram histogram(std::vector<uint64_t> counts, const std::string& unit = "ns") {
    return {.shape = decades_shape, .counts = std::move(counts), .unit = unit, .crtime = 7};
}

Histograms of_reads_and_writes() {
    return {{"read_wait", histogram({1, 2})},
            {"write_wait", histogram({0, 1, 5})},
            {"read_service", histogram({0, 0, 3})},
            {"write_service", histogram({0, 0, 0, 6})}};
}

TEST(TopLatencies, ReadsAndWritesAreAddedUp) {
    Bounds known;
    const Latencies latencies = latencies_of(of_reads_and_writes(), known);
    ASSERT_NE(latencies.bounds, nullptr);
    EXPECT_EQ(latencies.bounds->size(), 10u);
    EXPECT_EQ((*latencies.bounds)[1], 1'000u);
    EXPECT_EQ((*latencies.bounds)[9], 100'000'000'000u);
    EXPECT_EQ(latencies.wait, (std::vector<uint64_t>{1, 3, 5, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(latencies.service, (std::vector<uint64_t>{0, 0, 3, 6, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(latencies.crtime, 7);
}

TEST(TopLatencies, StagesOnTheConnectionAreThereIfTheirHistogramsAre) {
    Bounds known;
    EXPECT_TRUE(latencies_of(of_reads_and_writes(), known).receive.empty());
    Histograms histograms = of_reads_and_writes();
    histograms.insert({"read_receive", histogram({4})});
    histograms.insert({"write_receive", histogram({3, 1})});
    histograms.insert({"read_reply", histogram({1}, "requests")});
    histograms.insert({"write_reply", histogram({1}, "requests")});
    const Latencies latencies = latencies_of(histograms, known);
    EXPECT_EQ(latencies.receive, (std::vector<uint64_t>{7, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_TRUE(latencies.reply.empty());
}

TEST(TopLatencies, BoundsAreSharedByAllThatHaveTheSame) {
    Bounds known;
    const Latencies one = latencies_of(of_reads_and_writes(), known);
    const Latencies other = latencies_of(of_reads_and_writes(), known);
    EXPECT_EQ(one.bounds, other.bounds);
    EXPECT_EQ(one.bounds, known);
}

TEST(TopLatencies, WithoutHistogramsOfBothThereAreNone) {
    Bounds known;
    EXPECT_EQ(latencies_of({}, known).bounds, nullptr);
    EXPECT_EQ(latencies_of({{"read_wait", histogram({1})}}, known).bounds, nullptr);
}

TEST(TopLatencies, WhatIsNotNanosecondsIsNoLatency) {
    Bounds known;
    Histograms histograms = of_reads_and_writes();
    for (auto& [name, one] : histograms) one.unit = "bytes";
    EXPECT_EQ(latencies_of(histograms, known).bounds, nullptr);
}

}  // namespace
}  // namespace blkscope::top
