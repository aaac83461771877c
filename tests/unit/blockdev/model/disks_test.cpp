// Servers, and the disks that have a state: a head, or channels.
#include <gtest/gtest.h>

#include <cmath>

#include "blockdev/model/hdd.hpp"
#include "blockdev/model/servers.hpp"
#include "blockdev/model/ssd.hpp"

namespace blkscope::model {
namespace {

TEST(Servers, ServeInTheOrderOfComingFromThePlannedEnds) {
    Servers servers(2);
    EXPECT_EQ(servers.take(100, 50).end, 150);
    EXPECT_EQ(servers.take(100, 10).end, 110);
    const Stay third = servers.take(105, 20);  // the second server is free first
    EXPECT_EQ(third.server, 1U);
    EXPECT_EQ(third.begin, 110);
    EXPECT_EQ(third.end, 130);
    EXPECT_EQ(servers.take(200, 5).begin, 200);
}

// The program may come late to its own ends, which costs the next request nothing.
TEST(Servers, LatenessDoesNotAddUp) {
    Servers servers(1);
    EXPECT_EQ(servers.take(0, 1000).end, 1000);
    EXPECT_EQ(servers.take(0, 1000).end, 2000);  // started at 1010, but it might have at 0
}

TEST(Servers, AnOverrunMovesThePlannedEnd) {
    Servers servers(2);
    const Stay stay = servers.take(0, 100);
    servers.overrun(stay.server, 250);
    static_cast<void>(servers.take(0, 500));
    EXPECT_EQ(servers.take(0, 10).begin, 250);
    servers.overrun(stay.server, 20);  // earlier than what is planned: no change
    EXPECT_EQ(servers.take(0, 10).begin, 260);
}

TEST(Servers, FewerServersKeepTheLatestEnds) {
    Servers servers(3);
    for (const hrtime_t service : {10, 30, 20}) static_cast<void>(servers.take(0, service));
    servers.resize(1);
    EXPECT_EQ(servers.take(0, 1).begin, 30);
    servers.resize(2);
    EXPECT_EQ(servers.take(5, 1).begin, 5);
    servers.overrun(2, 1000);  // of a server that is no more
    EXPECT_EQ(servers.take(6, 1).begin, 6);
}

constexpr uint64_t tebi = uint64_t{1} << 40;
const HddShape disk_shape = HddShape::parse("7200:1ms:16ms:100M");
constexpr double turn_ns = 60e9 / 7200;
constexpr double byte_ns = 1e9 / (100 << 20);

TEST(Hdd, ARequestAtTheHeadHasOnlyTheTransfer) {
    Hdd disk(disk_shape, tebi);
    Draws draws(1, 0, 0);
    EXPECT_DOUBLE_EQ(disk.draw_ns(0, 4096, draws), 4096 * byte_ns);
    EXPECT_DOUBLE_EQ(disk.draw_ns(4096, 8192, draws), 8192 * byte_ns);
}

TEST(Hdd, ANearRequestHasARotationAndNoSeek) {
    Hdd disk(disk_shape, tebi);
    for (uint64_t n = 0; n < 1000; ++n) {
        Draws draws(1, 0, n);
        const double ns = disk.draw_ns(n % 2 == 0 ? 4096 : 500'000, 4096, draws);
        EXPECT_GT(ns, 4096 * byte_ns);
        EXPECT_LT(ns, 4096 * byte_ns + turn_ns);
    }
}

TEST(Hdd, AFarRequestHasASeekByTheRootOfTheDistance) {
    for (uint64_t n = 0; n < 100; ++n) {
        Hdd disk(disk_shape, tebi);
        Draws draws(1, 0, n);
        const double rest = Draws(1, 0, n).share() * turn_ns + 4096 * byte_ns;
        EXPECT_NEAR(disk.draw_ns(tebi / 4, 4096, draws), 1e6 + 15e6 * 0.5 + rest, 1e-3);
    }
}

// A random seek is 8/15 of the way from SEEK_MIN to SEEK_FULL, so data sheets give the shape.
TEST(Hdd, TheMeanOfRandomRequestsIsThatOfTheFormula) {
    Hdd disk(disk_shape, tebi);
    double sum = 0;
    constexpr int count = 100'000;
    for (uint64_t n = 0; n < count; ++n) {
        Draws draws(20261123, 0, n);
        sum += disk.draw_ns(Draws(2, 1, n).below(tebi / 4096) * 4096, 4096, draws);
    }
    const double mean = 1e6 + 15e6 * 8 / 15 + turn_ns / 2 + 4096 * byte_ns;
    EXPECT_NEAR(sum / count / mean, 1, 0.005);
}

TEST(Ssd, ARequestEndsWithItsLastStripe) {
    const SsdShape shape = SsdShape::parse("4:10us:100us:0:0s");
    Ssd disk(shape);
    Servers channels(4);
    // Sixteen stripes, four on each channel.
    EXPECT_EQ(disk.take(channels, {.bytes = 65536}).end, 40'000);
    // A part of a stripe takes as long as a stripe, behind the others of its channel.
    const Stay stay = disk.take(channels, {.write = true, .offset = 4096 * 5 + 1, .bytes = 1});
    EXPECT_EQ(stay.begin, 40'000);
    EXPECT_EQ(stay.end, 140'000);
    EXPECT_EQ(stay.server, 1U);
    // Another channel is not concerned.
    EXPECT_EQ(disk.take(channels, {.offset = 4096 * 2, .bytes = 4096, .ready = 41'000}).end,
              51'000);
}

TEST(Ssd, TheLastChannelTakesTheExtraTime) {
    Ssd disk(SsdShape::parse("2:10us:100us:0:0s"));
    Servers channels(2);
    EXPECT_EQ(disk.take(channels, {.bytes = 4096 * 3, .extra = 500}).end, 20'500);
    EXPECT_EQ(disk.take(channels, {.bytes = 4096}).begin, 20'500);
    EXPECT_EQ(disk.take(channels, {.offset = 4096, .bytes = 4096}).begin, 10'000);
}

TEST(Ssd, AChannelPausesAfterItsBytes) {
    Ssd disk(SsdShape::parse("2:10us:100us:12K:1ms"));
    Servers channels(2);
    const Ssd::Request write{.write = true, .bytes = 4096};
    EXPECT_EQ(disk.take(channels, write).end, 100'000);
    EXPECT_EQ(disk.take(channels, write).end, 200'000);
    EXPECT_EQ(disk.take(channels, write).end, 300'000);  // the pause is behind the write
    EXPECT_EQ(disk.take(channels, write).begin, 1'300'000);
    EXPECT_EQ(disk.take(channels, {.offset = 4096, .bytes = 4096}).begin, 0);  // the other channel
}

TEST(Ssd, NoTimeIsLongerThanADay) {
    Ssd disk(SsdShape::parse("1:86400s:86400s:1:1000s"));
    Servers channels(1);
    const hrtime_t day = 86'400 * hrtime_t{1'000'000'000};
    EXPECT_EQ(disk.take(channels, {.write = true, .bytes = 16 << 20}).end, day);
    EXPECT_EQ(disk.take(channels, {.bytes = 64 << 20}).begin, 2 * day);
    for (int i = 0; i < 200'000; ++i) {
        const Stay stay = disk.take(channels, {.write = true, .bytes = 16 << 20});
        ASSERT_LE(stay.begin, stay.end);
    }
}

TEST(Ssd, PrintsItsShape) {
    EXPECT_EQ(SsdShape::parse("8:60us:90us:4M:4ms").text(), "ssd:8:60us:90us:4M:4ms");
    EXPECT_EQ(HddShape::parse("5400:500us:20ms:150M").text(), "hdd:5400:500us:20ms:150M");
}

}  // namespace
}  // namespace blkscope::model
