// The devstat entries of a device and of its partitions.

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "base/clock.hpp"
#include "device_fixture.hpp"
#include "devstat/entries/bintime.hpp"
#include "devstat/entries/entry.hpp"
#include "disk_image.hpp"

namespace blkscope {
namespace {

using devstat::Devstat;
using devstat::ns_of;

class DevstatCountersTest : public DeviceTest {
  protected:
    static Devstat entry(const std::string& name = "nbd0") {
        const auto data = read_data(devstat::kstat_module, name + devstat::kstat_suffix);
        devstat::Record record;
        EXPECT_EQ(data.size(), sizeof record) << name;
        if (data.size() == sizeof record) {
            std::copy(data.begin(), data.end(), reinterpret_cast<std::byte*>(&record));
        }
        return record.entry;
    }

    void one(Buf::Op op, uint64_t offset, uint32_t bytes) {
        TestBuf buf(op, offset, bytes);
        device_->strategy(buf);
        finish_first(static_cast<int32_t>(buf.bcount));
        ASSERT_EQ(buf.done, 1);
    }
};

TEST_F(DevstatCountersTest, ARequestThatWaitsIsInFlight) {
    make(1);
    TestBuf first(Buf::Op::read);
    TestBuf second(Buf::Op::write);
    device_->strategy(first);
    device_->strategy(second);  // the device takes one at a time
    Devstat now = entry();
    EXPECT_EQ(now.start_count, 2u);
    EXPECT_EQ(now.end_count, 0u);
    EXPECT_EQ(ns_of(now.busy_time), 0);
    EXPECT_EQ(ns_of(now.busy_from), to_ns(first.queued));
    finish_first(4096);
    now = entry();
    EXPECT_EQ(now.end_count, 1u);
    EXPECT_EQ(ns_of(now.busy_time), to_ns(first.finished - first.queued));
    finish_first(4096);
    now = entry();
    EXPECT_EQ(now.start_count, now.end_count);
    EXPECT_EQ(now.sequence0, 4u);
    EXPECT_EQ(now.sequence1, 4u);
    EXPECT_EQ(ns_of(now.busy_time), to_ns(second.finished - first.queued));
    EXPECT_EQ(ns_of(now.duration[DEVSTAT_READ]), to_ns(first.finished - first.queued));
    EXPECT_EQ(ns_of(now.duration[DEVSTAT_WRITE]), to_ns(second.finished - second.queued));
}

TEST_F(DevstatCountersTest, AFailedRequestEndsWithTheBytesThatItMoved) {
    make(1);
    TestBuf buf(Buf::Op::write);
    device_->strategy(buf);
    finish_first(1024);
    finish_first(-EIO);
    ASSERT_EQ(buf.error, EIO);
    const Devstat now = entry();
    EXPECT_EQ(now.operations[DEVSTAT_WRITE], 1u);
    EXPECT_EQ(now.bytes[DEVSTAT_WRITE], 1024u);
    EXPECT_EQ(now.start_count, now.end_count);
}

TEST_F(DevstatCountersTest, ARequestThatIsRefusedIsNone) {
    make(1);
    TestBuf buf(Buf::Op::read, device_bytes);
    device_->strategy(buf);
    ASSERT_EQ(buf.error, EINVAL);
    EXPECT_EQ(entry().start_count, 0u);
}

TEST_F(DevstatCountersTest, APartitionHasAnEntryWithoutANameForWhatLiesInIt) {
    constexpr uint64_t sector = 512;
    DiskImage image(device_bytes);
    image.boot_entry(0, 0, 0x83, {100, 100});
    auto backing = std::make_unique<ScriptedBacking>(device_bytes);
    backing_ = backing.get();
    backing_->contents = image.bytes();
    give(std::move(backing), 4);
    one(Buf::Op::read, 150 * sector, 1024);
    one(Buf::Op::trim, 150 * sector, 2048);
    one(Buf::Op::read, 300 * sector, 512);
    const Devstat partition = entry("nbd0,1");
    EXPECT_EQ(partition.unit_number, -1);
    EXPECT_STREQ(partition.device_name, "");
    EXPECT_NE(partition.id, nullptr);
    EXPECT_EQ(partition.bytes[DEVSTAT_READ], 1024u);
    EXPECT_EQ(partition.bytes[DEVSTAT_FREE], 2048u);
    EXPECT_EQ(partition.end_count, 2u);
    const Devstat disk = entry();
    EXPECT_EQ(disk.unit_number, 0);
    EXPECT_EQ(disk.bytes[DEVSTAT_READ], 1536u);
    EXPECT_EQ(disk.end_count, 3u);
}

TEST_F(DevstatCountersTest, TheEntryGoesWithItsDevice) {
    make(1);
    EXPECT_FALSE(read_data(devstat::kstat_module, "nbd0,devstat").empty());
    device_.reset();
    EXPECT_TRUE(read_data(devstat::kstat_module, "nbd0,devstat").empty());
}

}  // namespace
}  // namespace blkscope
