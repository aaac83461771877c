// The metrics against values computed by hand.
#include <devstat.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace blkscope {
namespace {

using Devstat = struct devstat;

constexpr uint64_t half = uint64_t{1} << 63;  // of a second
constexpr uint64_t quarter = uint64_t{1} << 62;

/// 100 reads of 4 KiB in 2.5 s, and 50 writes of 16 KiB in 1 s. 10 frees of 1 MiB in 0.5 s, and 40
/// others in 0.25 s. 3 s of it busy, 3 in flight.
Devstat now() {
    Devstat d{};
    d.start_count = 203;
    d.end_count = 200;
    d.bytes[DEVSTAT_NO_DATA] = 12345;  // no sum includes this
    d.bytes[DEVSTAT_READ] = 100 * 4096;
    d.bytes[DEVSTAT_WRITE] = 50 * 16384;
    d.bytes[DEVSTAT_FREE] = 10 * 1048576;
    d.operations[DEVSTAT_NO_DATA] = 40;
    d.operations[DEVSTAT_READ] = 100;
    d.operations[DEVSTAT_WRITE] = 50;
    d.operations[DEVSTAT_FREE] = 10;
    d.duration[DEVSTAT_NO_DATA] = {0, quarter};
    d.duration[DEVSTAT_READ] = {2, half};
    d.duration[DEVSTAT_WRITE] = {1, 0};
    d.duration[DEVSTAT_FREE] = {0, half};
    d.busy_time = {3, 0};
    d.block_size = 4096;
    return d;
}

/// A part of it: half of the reads and writes, and one second busy.
Devstat earlier() {
    Devstat d = now();
    d.bytes[DEVSTAT_READ] = 50 * 4096;
    d.bytes[DEVSTAT_WRITE] = 25 * 16384;
    d.operations[DEVSTAT_READ] = 50;
    d.operations[DEVSTAT_WRITE] = 25;
    d.duration[DEVSTAT_READ] = {2, 0};
    d.duration[DEVSTAT_WRITE] = {0, half};
    d.busy_time = {1, 0};
    return d;
}

uint64_t count(devstat_metric metric, Devstat current, Devstat* previous = nullptr,
               long double etime = 4) {
    uint64_t value = 0xdead;
    EXPECT_EQ(devstat_compute_statistics(&current, previous, etime, metric, &value, DSM_NONE), 0);
    return value;
}

double measure(devstat_metric metric, Devstat current, Devstat* previous = nullptr,
               long double etime = 4) {
    long double value = 0xdead;
    EXPECT_EQ(devstat_compute_statistics(&current, previous, etime, metric, &value, DSM_NONE), 0);
    return static_cast<double>(value);
}

TEST(DevstatStatistics, CountsSinceTheCreation) {
    EXPECT_EQ(count(DSM_TOTAL_BYTES, now()), 409600u + 819200u + 10485760u);
    EXPECT_EQ(count(DSM_TOTAL_BYTES_READ, now()), 409600u);
    EXPECT_EQ(count(DSM_TOTAL_BYTES_WRITE, now()), 819200u);
    EXPECT_EQ(count(DSM_TOTAL_BYTES_FREE, now()), 10485760u);
    EXPECT_EQ(count(DSM_TOTAL_TRANSFERS, now()), 200u);
    EXPECT_EQ(count(DSM_TOTAL_TRANSFERS_READ, now()), 100u);
    EXPECT_EQ(count(DSM_TOTAL_TRANSFERS_WRITE, now()), 50u);
    EXPECT_EQ(count(DSM_TOTAL_TRANSFERS_FREE, now()), 10u);
    EXPECT_EQ(count(DSM_TOTAL_TRANSFERS_OTHER, now()), 40u);
    EXPECT_EQ(count(DSM_TOTAL_BLOCKS, now()), 2860u);
    EXPECT_EQ(count(DSM_TOTAL_BLOCKS_READ, now()), 100u);
    EXPECT_EQ(count(DSM_TOTAL_BLOCKS_WRITE, now()), 200u);
    EXPECT_EQ(count(DSM_TOTAL_BLOCKS_FREE, now()), 2560u);
    EXPECT_EQ(count(DSM_QUEUE_LENGTH, now()), 3u);
}

TEST(DevstatStatistics, MeasuresSinceTheCreation) {
    EXPECT_DOUBLE_EQ(measure(DSM_KB_PER_TRANSFER, now()), 11440.0 / 200);
    EXPECT_DOUBLE_EQ(measure(DSM_KB_PER_TRANSFER_READ, now()), 4);
    EXPECT_DOUBLE_EQ(measure(DSM_KB_PER_TRANSFER_WRITE, now()), 16);
    EXPECT_DOUBLE_EQ(measure(DSM_KB_PER_TRANSFER_FREE, now()), 1024);
    EXPECT_DOUBLE_EQ(measure(DSM_TRANSFERS_PER_SECOND, now()), 50);
    EXPECT_DOUBLE_EQ(measure(DSM_TRANSFERS_PER_SECOND_READ, now()), 25);
    EXPECT_DOUBLE_EQ(measure(DSM_TRANSFERS_PER_SECOND_WRITE, now()), 12.5);
    EXPECT_DOUBLE_EQ(measure(DSM_TRANSFERS_PER_SECOND_FREE, now()), 2.5);
    EXPECT_DOUBLE_EQ(measure(DSM_TRANSFERS_PER_SECOND_OTHER, now()), 10);
    EXPECT_DOUBLE_EQ(measure(DSM_MB_PER_SECOND, now()), 11440.0 / 1024 / 4);
    EXPECT_DOUBLE_EQ(measure(DSM_MB_PER_SECOND_READ, now()), 400.0 / 1024 / 4);
    EXPECT_DOUBLE_EQ(measure(DSM_MB_PER_SECOND_WRITE, now()), 800.0 / 1024 / 4);
    EXPECT_DOUBLE_EQ(measure(DSM_MB_PER_SECOND_FREE, now()), 2.5);
    EXPECT_DOUBLE_EQ(measure(DSM_BLOCKS_PER_SECOND, now()), 715);
    EXPECT_DOUBLE_EQ(measure(DSM_BLOCKS_PER_SECOND_READ, now()), 25);
    EXPECT_DOUBLE_EQ(measure(DSM_BLOCKS_PER_SECOND_WRITE, now()), 50);
    EXPECT_DOUBLE_EQ(measure(DSM_BLOCKS_PER_SECOND_FREE, now()), 640);
    EXPECT_DOUBLE_EQ(measure(DSM_MS_PER_TRANSACTION, now()), 4250.0 / 200);
    EXPECT_DOUBLE_EQ(measure(DSM_MS_PER_TRANSACTION_READ, now()), 25);
    EXPECT_DOUBLE_EQ(measure(DSM_MS_PER_TRANSACTION_WRITE, now()), 20);
    EXPECT_DOUBLE_EQ(measure(DSM_MS_PER_TRANSACTION_FREE, now()), 50);
    EXPECT_DOUBLE_EQ(measure(DSM_MS_PER_TRANSACTION_OTHER, now()), 6.25);
    EXPECT_DOUBLE_EQ(measure(DSM_BUSY_PCT, now()), 75);
    EXPECT_DOUBLE_EQ(measure(DSM_TOTAL_DURATION, now()), 4.25);
    EXPECT_DOUBLE_EQ(measure(DSM_TOTAL_DURATION_READ, now()), 2.5);
    EXPECT_DOUBLE_EQ(measure(DSM_TOTAL_DURATION_WRITE, now()), 1);
    EXPECT_DOUBLE_EQ(measure(DSM_TOTAL_DURATION_FREE, now()), 0.5);
    EXPECT_DOUBLE_EQ(measure(DSM_TOTAL_DURATION_OTHER, now()), 0.25);
    EXPECT_DOUBLE_EQ(measure(DSM_TOTAL_BUSY_TIME, now()), 3);
}

TEST(DevstatStatistics, SubtractWhatWasBefore) {
    Devstat before = earlier();
    EXPECT_EQ(count(DSM_TOTAL_BYTES, now(), &before), 204800u + 409600u);
    EXPECT_EQ(count(DSM_TOTAL_TRANSFERS, now(), &before), 75u);
    EXPECT_EQ(count(DSM_TOTAL_TRANSFERS_OTHER, now(), &before), 0u);
    EXPECT_EQ(count(DSM_TOTAL_BLOCKS, now(), &before), 150u);
    EXPECT_EQ(count(DSM_QUEUE_LENGTH, now(), &before), 3u);
    EXPECT_DOUBLE_EQ(measure(DSM_MS_PER_TRANSACTION_READ, now(), &before), 10);
    EXPECT_DOUBLE_EQ(measure(DSM_MS_PER_TRANSACTION, now(), &before), 1000.0 / 75);
    EXPECT_DOUBLE_EQ(measure(DSM_BUSY_PCT, now(), &before), 50);
    EXPECT_DOUBLE_EQ(measure(DSM_TOTAL_BUSY_TIME, now(), &before), 2);
}

TEST(DevstatStatistics, AreZeroWhereNothingWasTransferred) {
    const Devstat idle{};
    for (const devstat_metric metric :
         {DSM_KB_PER_TRANSFER, DSM_KB_PER_TRANSFER_READ, DSM_KB_PER_TRANSFER_WRITE,
          DSM_KB_PER_TRANSFER_FREE, DSM_MS_PER_TRANSACTION, DSM_MS_PER_TRANSACTION_READ,
          DSM_MS_PER_TRANSACTION_WRITE, DSM_MS_PER_TRANSACTION_FREE,
          DSM_MS_PER_TRANSACTION_OTHER}) {
        EXPECT_EQ(measure(metric, idle), 0) << metric;
    }
}

TEST(DevstatStatistics, HaveNoRatesOverNoTime) {
    for (const long double etime : {0.0L, -1.0L}) {
        for (const devstat_metric metric :
             {DSM_TRANSFERS_PER_SECOND, DSM_TRANSFERS_PER_SECOND_READ,
              DSM_TRANSFERS_PER_SECOND_WRITE, DSM_TRANSFERS_PER_SECOND_OTHER,
              DSM_TRANSFERS_PER_SECOND_FREE, DSM_MB_PER_SECOND, DSM_MB_PER_SECOND_READ,
              DSM_MB_PER_SECOND_WRITE, DSM_MB_PER_SECOND_FREE, DSM_BLOCKS_PER_SECOND,
              DSM_BLOCKS_PER_SECOND_READ, DSM_BLOCKS_PER_SECOND_WRITE,
              DSM_BLOCKS_PER_SECOND_FREE}) {
            EXPECT_EQ(measure(metric, now(), nullptr, etime), 0) << metric;
        }
    }
    EXPECT_DOUBLE_EQ(measure(DSM_KB_PER_TRANSFER_READ, now(), nullptr, 0), 4);
}

TEST(DevstatStatistics, DoNotGuardTheBusyShare) {
    EXPECT_TRUE(std::isinf(measure(DSM_BUSY_PCT, now(), nullptr, 0)));
    EXPECT_TRUE(std::isnan(measure(DSM_BUSY_PCT, Devstat{}, nullptr, 0)));
    EXPECT_DOUBLE_EQ(measure(DSM_BUSY_PCT, now(), nullptr, 1), 300);
    Devstat later = now();
    later.busy_time = {9, 0};
    EXPECT_EQ(measure(DSM_BUSY_PCT, now(), &later), 0);
    EXPECT_DOUBLE_EQ(measure(DSM_TOTAL_BUSY_TIME, now(), &later), -6);
}

TEST(DevstatStatistics, WrapAsTheirCountersDo) {
    Devstat more = now();
    more.bytes[DEVSTAT_READ] += 1;
    EXPECT_EQ(count(DSM_TOTAL_BYTES_READ, now(), &more), std::numeric_limits<uint64_t>::max());
    Devstat ended = now();
    ended.end_count = ended.start_count + 2;
    EXPECT_EQ(count(DSM_QUEUE_LENGTH, ended), 4294967294u);
}

TEST(DevstatStatistics, CountBlocksOf512BytesWhereTheSizeIsUnknown) {
    Devstat d = now();
    d.block_size = 0;
    EXPECT_EQ(count(DSM_TOTAL_BLOCKS_READ, d), 800u);
    d.bytes[DEVSTAT_READ] = 1023;
    EXPECT_EQ(count(DSM_TOTAL_BLOCKS_READ, d), 1u);
}

TEST(DevstatStatistics, ComputeSeveralAndSkip) {
    Devstat d = now();
    uint64_t reads = 0;
    uint64_t untouched = 7;
    long double busy = 0;
    ASSERT_EQ(
        devstat_compute_statistics(&d, nullptr, 4.0L, DSM_TOTAL_TRANSFERS_READ, &reads, DSM_SKIP,
                                   &untouched, DSM_SKIP, nullptr, DSM_BUSY_PCT, &busy, DSM_NONE),
        0);
    EXPECT_EQ(reads, 100u);
    EXPECT_EQ(untouched, 7u);
    EXPECT_EQ(busy, 75);
}

TEST(DevstatStatistics, StopAtAMetricThatThereIsNot) {
    Devstat d = now();
    uint64_t before = 0;
    uint64_t behind = 7;
    EXPECT_EQ(devstat_compute_statistics(&d, nullptr, 4.0L, DSM_TOTAL_TRANSFERS, &before, DSM_MAX,
                                         &behind, DSM_TOTAL_TRANSFERS, &behind, DSM_NONE),
              -1);
    EXPECT_STREQ(devstat_errbuf, "devstat_compute_statistics: metric 45 is out of range");
    EXPECT_EQ(before, 200u);
    EXPECT_EQ(behind, 7u);
}

TEST(DevstatStatistics, NeedACurrentEntry) {
    EXPECT_EQ(devstat_compute_statistics(nullptr, nullptr, 1.0L, DSM_NONE), -1);
    EXPECT_STREQ(devstat_errbuf, "devstat_compute_statistics: current stats structure was NULL");
}

TEST(DevstatEtime, IsTheDifferenceInSeconds) {
    bintime late{10, half};
    bintime early{8, half + quarter};
    EXPECT_EQ(devstat_compute_etime(&late, &early), 1.75L);
    EXPECT_EQ(devstat_compute_etime(&early, &late), -1.75L);
    EXPECT_EQ(devstat_compute_etime(&late, nullptr), 10.5L);
}

}  // namespace
}  // namespace blkscope
