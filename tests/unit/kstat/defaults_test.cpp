#include "kstat/registry/defaults.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/clock.hpp"
#include "kstat/registry/snapshot.hpp"

namespace blkscope {

namespace {

TEST(IoSnapshot, ChargesABusyQueueUpToTheMomentAndScales) {
    kstat_io_t live{};
    live.wcnt = 3;
    live.wtime = 1'000'000;
    live.wlentime = 2'000'000;
    live.wlastupdate = 5'000'000;
    const kstat_io_t copy = kstat::io_snapshot(live, 6'000'000);
    EXPECT_EQ(copy.wtime, to_ns(2'000'000));
    EXPECT_EQ(copy.wlentime, to_ns(5'000'000));
    EXPECT_EQ(copy.wlastupdate, to_ns(6'000'000));
    EXPECT_EQ(copy.wcnt, 3u);
}

TEST(IoSnapshot, LeavesAnIdleQueueAtItsLastUpdate) {
    kstat_io_t live{};
    live.rtime = 400'000;
    live.rlastupdate = 900'000;
    const kstat_io_t copy = kstat::io_snapshot(live, 5'000'000);
    EXPECT_EQ(copy.rtime, to_ns(400'000));
    EXPECT_EQ(copy.rlastupdate, to_ns(900'000));
}

TEST(IoSnapshot, NeverChargesATimeThatLiesBehindTheQueue) {
    kstat_io_t live{};
    live.rcnt = 1;
    live.rtime = live.rlentime = 7'000'000;
    live.rlastupdate = 9'000'000;
    const kstat_io_t copy = kstat::io_snapshot(live, 8'000'000);
    EXPECT_EQ(copy.rtime, to_ns(7'000'000));
    EXPECT_EQ(copy.rlastupdate, to_ns(9'000'000));
}

TEST(DefaultUpdate, IsThatOfANewKstatAndMayBeSetAgain) {
    kstat_t* ksp = kstat_create("defaults", 0, "update", "misc", KSTAT_TYPE_NAMED, 1, 0);
    ASSERT_NE(ksp, nullptr);
    EXPECT_EQ(ksp->ks_update(ksp, KSTAT_READ), 0);
    ksp->ks_update = default_kstat_update;
    EXPECT_EQ(ksp->ks_update(ksp, KSTAT_READ), 0);
    kstat_delete(ksp);
}

TEST(DefaultSnapshot, ExtendsTheCopyAndNotTheLiveQueues) {
    kstat_io_t live{};
    kstat_waitq_enter(&live);
    const kstat_io_t before = live;
    kstat_t ks{};
    ks.ks_type = KSTAT_TYPE_IO;
    ks.ks_data = &live;
    ks.ks_data_size = sizeof live;
    kstat_io_t copy{};
    EXPECT_EQ(kstat::default_snapshot(&ks, &copy, KSTAT_READ), 0);
    EXPECT_EQ(std::memcmp(&live, &before, sizeof live), 0);
    EXPECT_EQ(copy.wlastupdate, ks.ks_snaptime);
    // Both scaled from ticks, so the difference may round by one.
    EXPECT_NEAR(static_cast<double>(copy.wtime),
                static_cast<double>(ks.ks_snaptime - to_ns(before.wlastupdate)), 1);
}

TEST(DefaultSnapshot, AWrittenIoKstatReadsAsItWasWritten) {
    kstat_io_t live{};
    kstat_t ks{};
    ks.ks_type = KSTAT_TYPE_IO;
    ks.ks_flags = KSTAT_FLAG_WRITABLE;
    ks.ks_data = &live;
    ks.ks_data_size = sizeof live;
    kstat_io_t written{1, 2, 3, 4, 1'000'000'001, 2'000'000'002, 33, 44, 55, 66, 0, 0};
    EXPECT_EQ(kstat::default_snapshot(&ks, &written, KSTAT_WRITE), 0);
    kstat_io_t read{};
    EXPECT_EQ(kstat::default_snapshot(&ks, &read, KSTAT_READ), 0);
    EXPECT_EQ(std::memcmp(&read, &written, sizeof read), 0);
}

class NamedKstat : public testing::Test {
  protected:
    NamedKstat() {
        kstat_named_init(&records[0], "first", KSTAT_DATA_STRING);
        kstat_named_init(&records[1], "number", KSTAT_DATA_INT64);
        kstat_named_init(&records[2], "second", KSTAT_DATA_STRING);
        ks.ks_type = KSTAT_TYPE_NAMED;
        ks.ks_data = records.data();
        ks.ks_ndata = 3;
        ks.ks_data_size = sizeof records;
        ks.ks_flags = KSTAT_FLAG_LONGSTRINGS;
    }

    std::array<kstat_named_t, 3> records{};
    kstat_t ks{};
};

TEST_F(NamedKstat, UpdateCountsTheStrings) {
    kstat_named_setstr(&records[0], "ab");
    EXPECT_EQ(kstat::default_update(&ks, KSTAT_READ), 0);
    EXPECT_EQ(ks.ks_data_size, sizeof records + 3);
    kstat_named_setstr(&records[2], "longer");
    kstat::default_update(&ks, KSTAT_READ);
    EXPECT_EQ(ks.ks_data_size, sizeof records + 3 + 7);
}

TEST_F(NamedKstat, SnapshotAppendsTheStringsAndPointsTheRecordsAtThem) {
    kstat_named_setstr(&records[0], "ab");
    kstat_named_setstr(&records[2], "cde");
    records[1].value.i64 = -5;
    kstat::default_update(&ks, KSTAT_READ);
    std::vector<char> buffer(ks.ks_data_size);
    ASSERT_EQ(kstat::default_snapshot(&ks, buffer.data(), KSTAT_READ), 0);
    std::array<kstat_named_t, 3> copy{};
    std::memcpy(copy.data(), buffer.data(), sizeof copy);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&copy[0]), buffer.data() + sizeof records);
    EXPECT_STREQ(KSTAT_NAMED_STR_PTR(&copy[0]), "ab");
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&copy[2]), buffer.data() + sizeof records + 3);
    EXPECT_STREQ(KSTAT_NAMED_STR_PTR(&copy[2]), "cde");
    EXPECT_EQ(copy[1].value.i64, -5);
}

TEST_F(NamedKstat, AStringWithoutRoomIsLeftOut) {
    ks.ks_flags = 0;
    kstat_named_setstr(&records[0], "too late");
    kstat::default_update(&ks, KSTAT_READ);
    std::array<kstat_named_t, 3> copy{};
    ASSERT_EQ(kstat::default_snapshot(&ks, copy.data(), KSTAT_READ), 0);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&copy[0]), nullptr);
}

TEST_F(NamedKstat, AWriteNeedsTheFlagAndCopiesIn) {
    auto changed = records;
    changed[1].value.i64 = 9;
    EXPECT_EQ(kstat::default_snapshot(&ks, changed.data(), KSTAT_WRITE), EACCES);
    EXPECT_EQ(records[1].value.i64, 0);
    ks.ks_flags = KSTAT_FLAG_WRITABLE;
    EXPECT_EQ(kstat::default_snapshot(&ks, changed.data(), KSTAT_WRITE), 0);
    EXPECT_EQ(records[1].value.i64, 9);
    EXPECT_GT(ks.ks_snaptime, 0);
}

TEST(RecordSize, IsThatOfTheTypesStruct) {
    EXPECT_EQ(kstat::record_size(KSTAT_TYPE_RAW), 1u);
    EXPECT_EQ(kstat::record_size(KSTAT_TYPE_NAMED), 48u);
    EXPECT_EQ(kstat::record_size(KSTAT_TYPE_INTR), 20u);
    EXPECT_EQ(kstat::record_size(KSTAT_TYPE_IO), 80u);
    EXPECT_EQ(kstat::record_size(KSTAT_TYPE_TIMER), 80u);
    EXPECT_EQ(kstat::record_size(KSTAT_NUM_TYPES), 0u);
}

}  // namespace

}  // namespace blkscope
