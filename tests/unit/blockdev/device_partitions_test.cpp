// Requests, and the partitions that contain them.

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "device_fixture.hpp"
#include "disk_image.hpp"

namespace blkscope {
namespace {

constexpr uint64_t sector = 512;

class DevicePartitions : public DeviceTest {
  protected:
    // Partition 1: sectors 100 to 199; 2: 200 to 299; then a gap; 3: 400 to 1399.
    static DiskImage three() {
        DiskImage image(device_bytes);
        image.boot_entry(0, 0, 0x83, {100, 100});
        image.boot_entry(0, 1, 0x83, {200, 100});
        image.boot_entry(0, 2, 0x83, {400, 1000});
        return image;
    }

    void make_from(const DiskImage& image, uint32_t depth) {
        auto backing = std::make_unique<ScriptedBacking>(device_bytes);
        backing_ = backing.get();
        backing_->contents = image.bytes();
        give(std::move(backing), depth);
    }

    static kstat_io_t io(int partition) {
        return read_record<kstat_io_t>("nbd0," + std::to_string(partition));
    }
    static bool there(int partition) {
        return !read_data("nbd", "nbd0," + std::to_string(partition)).empty();
    }

    void one(Buf::Op op, uint64_t offset = 0, uint32_t bytes = 512) {
        TestBuf buf(op, offset, bytes);
        device_->strategy(buf);
        finish_first(static_cast<int32_t>(buf.bcount));
        ASSERT_EQ(buf.done, 1);
    }

    /// Writes another table under the device, as a client does: a write to sector 0.
    void write_table(const DiskImage& image) {
        backing_->contents = image.bytes();
        one(Buf::Op::write, 0);
    }
};

TEST_F(DevicePartitions, ARequestInsideAPartitionCountsOnItAndOnTheDisk) {
    make_from(three(), 4);
    one(Buf::Op::read, 100 * sector, 512);
    one(Buf::Op::write, 299 * sector, 512);
    one(Buf::Op::write, 200 * sector, 100 * sector);
    EXPECT_EQ(io(1).reads, 1u);
    EXPECT_EQ(io(1).nread, 512u);
    EXPECT_EQ(io(1).writes, 0u);
    EXPECT_EQ(io(2).writes, 2u);
    EXPECT_EQ(io(2).nwritten, 101 * sector);
    EXPECT_EQ(io(3).reads + io(3).writes, 0u);
    EXPECT_EQ(device_->io().reads, 1u);
    EXPECT_EQ(device_->io().writes, 2u);
}

TEST_F(DevicePartitions, ARequestThatSpansPartitionsOrLiesInNoneCountsOnTheDiskOnly) {
    make_from(three(), 4);
    one(Buf::Op::read, 199 * sector, 2 * sector);   // 1 and 2
    one(Buf::Op::read, 99 * sector, 2 * sector);    // begins before 1
    one(Buf::Op::read, 300 * sector, sector);       // the gap
    one(Buf::Op::read, 1399 * sector, 2 * sector);  // ends behind 3
    one(Buf::Op::read, 0, sector);
    for (const int partition : {1, 2, 3}) EXPECT_EQ(io(partition).reads, 0u);
    EXPECT_EQ(device_->io().reads, 5u);
}

TEST_F(DevicePartitions, IdleToIdleThePartitionsIntegralsAreTheSumsOfTheirOwnStays) {
    make_from(three(), 3);
    std::mt19937 random(20261121);
    std::vector<std::unique_ptr<TestBuf>> bufs;
    for (int i = 0; i < 3000; ++i) {
        if (random() % 2 == 0) {
            bufs.push_back(std::make_unique<TestBuf>(random() % 2 ? Buf::Op::read : Buf::Op::write,
                                                     random() % 1400 * sector, 4096));
            device_->strategy(*bufs.back());
        } else if (!backing_->held.empty()) {
            finish_first(random() % 8 == 0 ? -EIO : static_cast<int32_t>(4096));
        }
    }
    while (!backing_->held.empty()) finish_first(4096);

    struct Sums {
        hrtime_t waits = 0, runs = 0;
        u_longlong_t bytes = 0;
        uint_t operations = 0;
    };
    std::vector<Sums> sums(4);  // the disk, and three partitions
    for (const auto& buf : bufs) {
        const uint64_t first = buf->offset / sector;
        const uint64_t end = first + 8;
        size_t partition = 0;
        if (first >= 100 && end <= 200) partition = 1;
        if (first >= 200 && end <= 300) partition = 2;
        if (first >= 400 && end <= 1400) partition = 3;
        for (size_t i : {size_t{0}, partition}) {
            sums[i].waits += buf->started - buf->queued;
            sums[i].runs += buf->finished - buf->started;
            sums[i].bytes += buf->moved();
            ++sums[i].operations;
            if (partition == 0) break;
        }
    }
    for (int i = 0; i < 4; ++i) {
        const kstat_io_t stats = i == 0 ? read_record<kstat_io_t>("nbd0") : io(i);
        const Sums& sum = sums[static_cast<size_t>(i)];
        EXPECT_GT(sum.operations, 20u);
        EXPECT_EQ(stats.wlentime, to_ns(sum.waits)) << i;
        EXPECT_EQ(stats.rlentime, to_ns(sum.runs)) << i;
        EXPECT_EQ(stats.nread + stats.nwritten, sum.bytes) << i;
        EXPECT_EQ(stats.reads + stats.writes, sum.operations) << i;
        EXPECT_EQ(stats.wcnt + stats.rcnt, 0u) << i;
        EXPECT_LE(stats.rtime, stats.rlentime) << i;
    }
}

TEST_F(DevicePartitions, AFlushAfterAWriteToTheTableReadsItAgain) {
    make_from(DiskImage(device_bytes), 4);
    EXPECT_FALSE(there(1));
    write_table(three());
    EXPECT_FALSE(there(1));
    one(Buf::Op::flush);
    EXPECT_TRUE(there(1) && there(2) && there(3));
    write_table(DiskImage(device_bytes));
    one(Buf::Op::flush);
    EXPECT_FALSE(there(1) || there(2) || there(3));
}

TEST_F(DevicePartitions, TheLastClientsLeavingReadsAWrittenTableAgain) {
    make_from(DiskImage(device_bytes), 4);
    device_->first_lane().connection_opened();
    device_->first_lane().connection_opened();
    write_table(three());
    device_->first_lane().connection_closed();
    EXPECT_FALSE(there(1));
    device_->first_lane().connection_closed();
    EXPECT_TRUE(there(1));
}

TEST_F(DevicePartitions, ATableThatCannotBeReadNowLeavesThePartitionsAndIsReadLater) {
    make_from(three(), 4);
    one(Buf::Op::read, 100 * sector);
    testing::internal::CaptureStderr();
    backing_->contents.clear();
    one(Buf::Op::write, 0);
    for (int i = 0; i < 2; ++i) one(Buf::Op::flush);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "blkscope: nbd0: partition table ignored: its sectors cannot be read now; the "
              "partitions stay as they were\n");
    EXPECT_EQ(io(1).reads, 1u);
    DiskImage changed(device_bytes);
    changed.boot_entry(0, 0, 0x83, {100, 100});
    backing_->contents = changed.bytes();
    one(Buf::Op::flush);
    EXPECT_EQ(io(1).reads, 1u);
    EXPECT_FALSE(there(2));
}

TEST_F(DevicePartitions, OnlyAWriteOutsideThePartitionsMakesTheDeviceReadTheTable) {
    make_from(three(), 4);
    const int at_start = backing_->reads_at_once;
    one(Buf::Op::write, 100 * sector);
    one(Buf::Op::read, 0);
    one(Buf::Op::trim, 0, 0);  // of no byte
    one(Buf::Op::flush);
    EXPECT_EQ(backing_->reads_at_once, at_start);
    one(Buf::Op::write, 350 * sector);  // in the gap, where a chain's record may be
    one(Buf::Op::flush);
    EXPECT_GT(backing_->reads_at_once, at_start);
}

// The write may be the last for hours.
TEST_F(DevicePartitions, ATableWrittenWhileTheBackingRestsIsReadAfterItsRest) {
    make_from(DiskImage(device_bytes), 4);
    backing_->rest_ns = 1'000'000;
    write_table(three());
    for (int i = 0; i < 2; ++i) one(Buf::Op::flush);
    EXPECT_FALSE(there(1));
    backing_->rest_ns = 0;
    ring_->wait();
    ring_->dispatch();
    EXPECT_TRUE(there(1) && there(2) && there(3));
}

TEST_F(DevicePartitions, ABackingWithALongerRestIsAskedAgain) {
    make_from(DiskImage(device_bytes), 4);
    backing_->rest_ns = 1'000'000;
    write_table(three());
    one(Buf::Op::flush);
    const int before = backing_->reads_at_once;
    ring_->wait();
    ring_->dispatch();
    EXPECT_EQ(backing_->reads_at_once, before);
    backing_->rest_ns = 0;
    ring_->wait();
    ring_->dispatch();
    EXPECT_TRUE(there(1));
}

// A table that can never be read must not cost a look again and again.
TEST_F(DevicePartitions, AfterALookThatFailedOnlyAFlushOrACloseLeadsToAnother) {
    make_from(three(), 4);
    backing_->contents.clear();
    backing_->rest_ns = 1'000'000;
    one(Buf::Op::write, 0);
    one(Buf::Op::flush);
    const int before = backing_->reads_at_once;
    backing_->rest_ns = 0;
    ring_->wait();
    ring_->dispatch();
    const int looked = backing_->reads_at_once;
    EXPECT_GT(looked, before);
    backing_->rest_ns = 1'000'000;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    ring_->wait(false);
    ring_->dispatch();
    backing_->rest_ns = 0;
    ring_->wait(false);
    ring_->dispatch();
    EXPECT_EQ(backing_->reads_at_once, looked);
    one(Buf::Op::flush);
    EXPECT_GT(backing_->reads_at_once, looked);
}

TEST_F(DevicePartitions, APartitionThatStaysKeepsItsCounts) {
    make_from(three(), 4);
    one(Buf::Op::read, 100 * sector);
    one(Buf::Op::read, 400 * sector);
    DiskImage changed(device_bytes);
    changed.boot_entry(0, 0, 0x83, {100, 100});
    changed.boot_entry(0, 2, 0x83, {400, 500});  // shorter: another partition with the same name
    write_table(changed);
    one(Buf::Op::flush);
    EXPECT_EQ(io(1).reads, 1u);
    EXPECT_FALSE(there(2));
    EXPECT_EQ(io(3).reads, 0u);
}

TEST_F(DevicePartitions, ARequestMayOutliveItsPartition) {
    make_from(three(), 4);
    TestBuf running(Buf::Op::read, 100 * sector, 512);
    device_->strategy(running);
    Buf* held = backing_->held.front();
    backing_->held.clear();
    for (int i = 0; i < 3; ++i) {
        write_table(i % 2 == 0 ? DiskImage(device_bytes) : three());
        one(Buf::Op::flush);
    }
    EXPECT_FALSE(there(1));
    backing_->held.push_back(held);
    finish_first(512);
    EXPECT_EQ(running.done, 1);
    EXPECT_EQ(device_->io().rcnt, 0u);
}

TEST_F(DevicePartitions, ABadTableIsToldOnce) {
    DiskImage bad(device_bytes);
    bad.gpt({{100, 50}});
    bad.header<uint64_t>(40, 99);
    testing::internal::CaptureStderr();
    make_from(bad, 4);
    write_table(bad);
    one(Buf::Op::flush);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "blkscope: nbd0: partition table ignored: the CRC of the GPT header is wrong; "
              "check it with sfdisk --verify\n");
}

}  // namespace
}  // namespace blkscope
