// The holes of a device: lists of extents, and reads that are answered without the backing.
#include <algorithm>
#include <array>

#include "device_fixture.hpp"

namespace blkscope {
namespace {

constexpr uint64_t extent_kib = 1024;

class DeviceExtents : public DeviceTest {
  protected:
    /// The extents of the range, at most `room` of them.
    std::vector<Extent> list(uint64_t offset, uint64_t bytes, size_t room = 8) {
        TestBuf buf(Buf::Op::block_status, offset, static_cast<uint32_t>(bytes));
        buf.extents = ExtentList(std::span(memory_).first(room));
        turns_ = 0;
        for (device_->strategy(buf); buf.done == 0; ++turns_) {
            ring_->wait(false);
            ring_->dispatch();
        }
        EXPECT_EQ(buf.error, 0);
        resid_ = buf.resid;
        return {buf.extents.items().begin(), buf.extents.items().end()};
    }

    std::array<Extent, 4096> memory_{};
    uint64_t resid_ = 0;
    int turns_ = 0;
};

TEST_F(DeviceExtents, AListCoversTheRangeFromItsFirstByteToItsLast) {
    make(1);
    backing_->extents = {{8 * extent_kib, false}, {4 * extent_kib, true}, {64 * extent_kib, false}};
    EXPECT_EQ(list(4 * extent_kib, 16 * extent_kib),
              (std::vector<Extent>{
                  {4 * extent_kib, false}, {4 * extent_kib, true}, {8 * extent_kib, false}}));
    EXPECT_EQ(resid_, 0u);
}

TEST_F(DeviceExtents, NeighboursOfOneKindAreOne) {
    make(1);
    backing_->extents = {
        {extent_kib, true}, {extent_kib, true}, {extent_kib, true}, {extent_kib, false}};
    EXPECT_EQ(list(0, 8 * extent_kib),
              (std::vector<Extent>{{3 * extent_kib, true}, {5 * extent_kib, false}}));
}

TEST_F(DeviceExtents, AFullListEndsEarlyWithoutAnError) {
    make(1);
    backing_->extents = {{extent_kib, true}, {extent_kib, false}, {extent_kib, true}};
    EXPECT_EQ(list(0, 8 * extent_kib, 2),
              (std::vector<Extent>{{extent_kib, true}, {extent_kib, false}}));
    EXPECT_EQ(resid_, 6 * extent_kib);
    EXPECT_EQ(list(0, 8 * extent_kib, 1), (std::vector<Extent>{{extent_kib, true}}));
}

TEST(ExtentList, HasRoomAgainWhenItIsCleared) {
    std::array<Extent, 1> memory;
    ExtentList list{memory};
    EXPECT_TRUE(list.append({4096, false}));
    EXPECT_FALSE(list.append({4096, true}));
    list.clear();
    EXPECT_TRUE(list.append({4096, true}));
    EXPECT_EQ(list.items().front(), (Extent{4096, true}));
}

TEST_F(DeviceExtents, ALongListIsMadeInSeveralTurns) {
    make(1);
    for (uint64_t i = 0; i < 4096; ++i) backing_->extents.push_back({256, i % 2 == 0});
    // Each look-up of a scripted backing is slow, because it counts from the first extent.
    const auto extents = list(0, device_bytes, memory_.size());
    EXPECT_EQ(extents.size(), 4096u);
    EXPECT_EQ(resid_, 0u);
    EXPECT_GT(turns_, 1);
}

TEST_F(DeviceExtents, AListIsCountedAndEntersNoQueue) {
    make(1);
    list(0, 64 * extent_kib);
    EXPECT_EQ(device_->io().reads, 0u);
    EXPECT_EQ(device_->io().rlastupdate, 0);
    const auto data = read_data("nbd", "nbd0,cmds");
    const auto* const records = reinterpret_cast<const kstat_named_t*>(data.data());
    const auto* const end = records + data.size() / sizeof *records;
    const auto* const found = std::find_if(records, end, [](const kstat_named_t& record) {
        return std::string(record.name) == "block_status_bytes";
    });
    ASSERT_NE(found, end);
    EXPECT_EQ(found->value.ui64, 64 * extent_kib);
}

TEST_F(DeviceExtents, AReadThatLiesInAHoleIsDoneAndAccountedWithoutTheBacking) {
    make(1);
    backing_->extents = {{512 * extent_kib, true}};
    TestBuf read(Buf::Op::read, 0, 128 * extent_kib);
    read.extents = ExtentList(std::span(memory_).first(4));
    device_->strategy(read);
    ring_->dispatch();
    EXPECT_EQ(read.done, 1);
    EXPECT_TRUE(backing_->held.empty());
    EXPECT_EQ(read.extents.items().size(), 1u);
    EXPECT_EQ(device_->io().reads, 1u);
    EXPECT_EQ(device_->io().nread, 128 * extent_kib);
}

TEST_F(DeviceExtents, AReadThatMeetsDataTooIsDoneWhole) {
    make(1);
    backing_->extents = {{32 * extent_kib, true},
                         {extent_kib, false},
                         {extent_kib, true},
                         {extent_kib, false},
                         {extent_kib, true}};
    TestBuf read(Buf::Op::read, 0, 128 * extent_kib);
    read.extents = ExtentList(std::span(memory_).first(3));
    device_->strategy(read);
    ASSERT_EQ(backing_->held.size(), 1u);
    finish_first(1000);  // short: the rest is read, even though the list is full
    finish_first(128 * extent_kib - 1000);
    EXPECT_EQ(read.done, 1);
    EXPECT_EQ(read.resid, 0u);
    const auto extents = read.extents.items();
    EXPECT_EQ((std::vector<Extent>{extents.begin(), extents.end()}),
              (std::vector<Extent>{
                  {32 * extent_kib, true}, {extent_kib, false}, {95 * extent_kib, false}}));
}

TEST_F(DeviceExtents, NobodyIsAskedAboutAReadThatIsShortOrDoesNotAsk) {
    make(2);
    backing_->extents = {{512 * extent_kib, true}};
    TestBuf small(Buf::Op::read, 0, 4096);
    small.extents = ExtentList(std::span(memory_).first(4));
    TestBuf plain(Buf::Op::read, 0, 128 * extent_kib);
    device_->strategy(small);
    device_->strategy(plain);
    EXPECT_EQ(backing_->look_ups, 0);
    finish_first(4096);
    finish_first(128 * extent_kib);
    EXPECT_TRUE(small.extents.items().empty());
}

}  // namespace
}  // namespace blkscope
