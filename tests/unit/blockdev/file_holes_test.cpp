// Looks for the holes of a file: what they may cost, and what is remembered of them.
#include "blockdev/backing/file_holes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "../driver/delegating_kernel.hpp"
#include "../temporary_folder.hpp"
#include "blockdev/backing/file_backing.hpp"
#include "blockdev/device/device.hpp"
#include "kstat/provider/instance.hpp"

namespace blkscope {
namespace {

constexpr uint64_t hole_mib = uint64_t{1} << 20;
constexpr hrtime_t look_ms = 1'000'000;

// ---- What is remembered ----

FileHoles holes_of(uint64_t size_bytes) {
    OpenFile file;
    file.size_bytes = size_bytes;
    return FileHoles(file);
}

TEST(FileHoles, DataOfASlowLookIsRememberedForAHundredTimesAsLong) {
    FileHoles holes = holes_of(64 * hole_mib);
    holes.found_data(hole_mib, 3 * hole_mib, 0, look_ms, holes.punches());
    EXPECT_EQ(holes.data_from(2 * hole_mib, look_ms), hole_mib);
    EXPECT_EQ(holes.data_from(3 * hole_mib, look_ms), 0u);
    EXPECT_EQ(holes.data_from(hole_mib - 1, look_ms), 0u);
    EXPECT_EQ(holes.data_from(2 * hole_mib, 101 * look_ms - 1), hole_mib);
    EXPECT_EQ(holes.data_from(2 * hole_mib, 101 * look_ms), 0u);
}

TEST(FileHoles, DataOfAQuickLookIsNotRemembered) {
    FileHoles holes = holes_of(64 * hole_mib);
    holes.found_data(0, hole_mib, 0, slow_look_ns, holes.punches());
    EXPECT_EQ(holes.data_from(0, slow_look_ns), 0u);
}

TEST(FileHoles, AHoleIsTakenOutOfTheRememberedData) {
    FileHoles holes = holes_of(64 * hole_mib);
    holes.found_data(0, 10 * hole_mib, 0, look_ms, holes.punches());
    EXPECT_FALSE(holes.punched(4 * hole_mib, hole_mib));
    EXPECT_EQ(holes.data_from(0, look_ms), 4 * hole_mib);
    EXPECT_EQ(holes.data_from(4 * hole_mib, look_ms), 0u);
    EXPECT_EQ(holes.data_from(5 * hole_mib, look_ms), 5 * hole_mib);
}

TEST(FileHoles, ALookBesideATrimIsNotRemembered) {
    FileHoles holes = holes_of(64 * hole_mib);
    const uint64_t punches = holes.punches();
    EXPECT_FALSE(holes.punched(0, 4096));
    holes.found_data(0, 10 * hole_mib, 0, look_ms, punches);
    EXPECT_EQ(holes.data_from(0, look_ms), 0u);
}

TEST(LookCredit, SlowLooksHaveAHundredthOfTheTime) {
    LookCredit credit;
    hrtime_t now = 0;
    hrtime_t looking = 0;
    while (now < 100'000 * look_ms) {
        if (credit.is_left(now)) {
            credit.took(now, now + 5 * look_ms);
            looking += 5 * look_ms;
            now += 5 * look_ms;
        }
        now += look_ms;
    }
    EXPECT_NEAR(static_cast<double>(looking) / static_cast<double>(now), 0.01, 0.001);
}

TEST(LookCredit, QuickLooksAreFree) {
    LookCredit credit;
    for (hrtime_t now = 0; now < 100 * look_ms; now += slow_look_ns) {
        credit.took(now, now + slow_look_ns);
        ASSERT_TRUE(credit.is_whole());
    }
}

// ---- A file ----

// lseek(2) takes as long as the test says, on the test's clock.
class SlowSeeks final : public blkscope::testing::DelegatingKernel {
  public:
    int64_t seek(int fd, uint64_t at, int whence) override {
        if (whence != SEEK_END) {
            ++seeks;
            time += ns;
        }
        return DelegatingKernel::seek(fd, at, whence);
    }
    hrtime_t now() override { return time; }

    SlowSeeks() { ticks_are_ns = true; }

    int seeks = 0;
    hrtime_t ns = 0;  // of each
    hrtime_t time = 1;
};

// A file of 16 MiB. Its first `data_bytes` are data.
class LookAtAFile : public ::testing::Test {
  protected:
    void make(uint64_t data_bytes) {
        const std::string path = folder_ / "disk.img";
        std::ofstream out(path);
        out << std::string(data_bytes, 'd');
        out.close();
        std::filesystem::resize_file(path, 16 * hole_mib);
        OpenFile file = open_file(path, {});
        file.mapping_pays = false;
        ring_.enable();
        device_ =
            std::make_unique<Device>(ring_, std::make_unique<FileBacking>(file, kernel_),
                                     kstat::claim_instance("nbd"), DeviceOptions{.queue_depth = 8});
    }

    struct Done : Buf {
        bool done = false;
    };

    void perform(Done& buf, Buf::Op op, uint64_t offset, uint64_t bytes) {
        buf.op = op;
        buf.offset = offset;
        buf.bcount = bytes;
        buf.data = data_.data();
        buf.iodone = [](Buf& done) { static_cast<Done&>(done).done = true; };
        device_->strategy(buf);
        for (ring_.dispatch(); !buf.done; ring_.dispatch()) ring_.wait();
        EXPECT_EQ(buf.error, 0);
    }

    /// A read of 64 KiB. True if it was told to be a hole.
    bool read_finds_hole(uint64_t offset) {
        std::array<Extent, 4> memory;
        Done buf;
        buf.extents = ExtentList(memory);
        perform(buf, Buf::Op::read, offset, 65536);
        return buf.extents.items().size() == 1 && buf.extents.items().front().hole;
    }
    std::vector<Extent> extents(uint64_t offset, uint64_t bytes) {
        std::array<Extent, 16> memory;
        Done buf;
        buf.extents = ExtentList(memory);
        perform(buf, Buf::Op::block_status, offset, bytes);
        const auto items = buf.extents.items();
        return {items.begin(), items.end()};
    }
    void trim(uint64_t offset, uint64_t bytes) {
        Done buf;
        perform(buf, Buf::Op::trim, offset, bytes);
    }
    int seeks_of_reads(int count) {
        kernel_.seeks = 0;
        for (int i = 0; i < count; ++i) read_finds_hole(static_cast<uint64_t>(i) % 16 * 65536);
        return kernel_.seeks;
    }

    const test::RunFolder folder_{"/var/tmp"};
    SlowSeeks kernel_;
    Ring ring_{32, false, kernel_};
    std::vector<std::byte> data_ = std::vector<std::byte>(hole_mib);
    std::unique_ptr<Device> device_;
};

TEST_F(LookAtAFile, ForAFarHoleIsMadeOnce) {
    make(8 * hole_mib);
    kernel_.ns = 5 * look_ms;
    EXPECT_EQ(seeks_of_reads(100), 2);  // SEEK_DATA and SEEK_HOLE
    kernel_.seeks = 0;
    for (uint64_t at = 0; at < 8 * hole_mib; at += 65536) {
        EXPECT_EQ(extents(at, 65536), (std::vector<Extent>{{65536, false}}));
    }
    EXPECT_EQ(kernel_.seeks, 0);
}

TEST_F(LookAtAFile, RemembersNoHole) {
    make(0);
    kernel_.ns = 5 * look_ms;
    EXPECT_TRUE(read_finds_hole(hole_mib));
    std::fstream other(folder_ / "disk.img", std::ios::in | std::ios::out);
    other.seekp(hole_mib);
    other << std::string(65536, 'o');
    other.close();
    EXPECT_FALSE(read_finds_hole(hole_mib));
    EXPECT_EQ(data_[0], std::byte{'o'});
    EXPECT_EQ(extents(hole_mib, 65536), (std::vector<Extent>{{65536, false}}));
}

TEST_F(LookAtAFile, FindsATrimInRememberedDataAtOnce) {
    make(8 * hole_mib);
    kernel_.ns = 5 * look_ms;
    EXPECT_FALSE(read_finds_hole(0));
    trim(hole_mib, hole_mib);
    EXPECT_EQ(extents(0, 3 * hole_mib),
              (std::vector<Extent>{{hole_mib, false}, {hole_mib, true}, {hole_mib, false}}));
}

TEST_F(LookAtAFile, FindsAHoleOfAnotherProgramWhenTheMemoryEnds) {
    make(8 * hole_mib);
    kernel_.ns = 5 * look_ms;
    EXPECT_FALSE(read_finds_hole(0));
    std::filesystem::resize_file(folder_ / "disk.img", 0);
    std::filesystem::resize_file(folder_ / "disk.img", 16 * hole_mib);
    EXPECT_FALSE(read_finds_hole(0));
    EXPECT_EQ(data_[0], std::byte{0});  // it is read
    kernel_.time += 1000 * look_ms;
    EXPECT_TRUE(read_finds_hole(0));
}

// Each costs a read in a file of many slow extents, or behind a network, so most reads do without.
TEST_F(LookAtAFile, IsNotMadeForAReadWithoutCredit) {
    make(0);
    kernel_.ns = 5 * look_ms;
    EXPECT_LE(seeks_of_reads(1000), 5);
    EXPECT_FALSE(read_finds_hole(0));
    EXPECT_EQ(extents(0, 65536), (std::vector<Extent>{{65536, true}}));  // a block status is exact
    kernel_.time += 10'000 * look_ms;
    EXPECT_TRUE(read_finds_hole(0));
}

TEST_F(LookAtAFile, IsNotMadeAfterASmallTrimOfAFullFile) {
    make(16 * hole_mib);
    EXPECT_EQ(seeks_of_reads(16), 0);
    trim(15 * hole_mib, 65536);
    EXPECT_EQ(seeks_of_reads(16), 0);
    for (int i = 0; i < 100; ++i) trim(15 * hole_mib, 65536);  // the same hole
    EXPECT_EQ(seeks_of_reads(16), 0);
    EXPECT_EQ(extents(15 * hole_mib, 65536), (std::vector<Extent>{{65536, true}}));
    trim(8 * hole_mib, 8 * hole_mib);
    EXPECT_TRUE(read_finds_hole(9 * hole_mib));
}

TEST_F(LookAtAFile, EndsWhenWritesHaveFilledTheHoles) {
    make(8 * hole_mib);
    EXPECT_EQ(seeks_of_reads(16), 32);
    for (uint64_t at = 8 * hole_mib; at < 16 * hole_mib; at += hole_mib) {
        Done buf;
        std::ranges::fill(data_, std::byte{'w'});
        perform(buf, Buf::Op::write, at, hole_mib);
    }
    Done flush;  // some file systems allocate late
    perform(flush, Buf::Op::flush, 0, 0);
    seeks_of_reads(1024);
    EXPECT_EQ(seeks_of_reads(16), 0);
}

}  // namespace
}  // namespace blkscope
