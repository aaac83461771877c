// Writes that may wait for the disk: to pages that are not cached, and to a filesystem that is full.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <vector>

#include "../driver/delegating_kernel.hpp"
#include "../loop_device.hpp"
#include "../temporary_folder.hpp"
#include "base/descriptor.hpp"
#include "blockdev/backing/file_backing.hpp"
#include "blockdev/device/device.hpp"
#include "kstat/provider/instance.hpp"

namespace blkscope {
namespace {

// A page cache that is empty, or has all pages. Writes by the worker itself are counted.
class ColdKernel final : public blkscope::testing::DelegatingKernel {
  public:
    bool is_cached(const std::byte*, uint64_t) override { return warm; }
    bool copy(std::byte* to, std::span<const std::byte> from) override {
        ++copies;
        return DelegatingKernel::copy(to, from);
    }
    ssize_t pwrite(int fd, std::span<const std::byte> from, uint64_t at) override {
        ++by_the_worker;
        return lacks_space != 0 ? -lacks_space : DelegatingKernel::pwrite(fd, from, at);
    }
    hrtime_t now() override { return DelegatingKernel::now() + later_ns; }

    bool warm = false;
    int copies = 0;
    int by_the_worker = 0;
    int lacks_space = 0;  // an errno
    hrtime_t later_ns = 0;
};

class ColdFile : public ::testing::Test {
  protected:
    void SetUp() override {
        const std::string path = folder_ / "disk.img";
        std::ofstream(path).flush();
        std::filesystem::resize_file(path, uint64_t{4} << 20);
        OpenFile file = open_file(path, {});
        file.mapping_pays = true;
        ring_.enable();
        device_ =
            std::make_unique<Device>(ring_, std::make_unique<FileBacking>(file, kernel_),
                                     kstat::claim_instance("nbd"), DeviceOptions{.queue_depth = 8});
    }

    struct Done : Buf {
        bool done = false;
    };

    int perform(Buf::Op op, uint64_t offset, std::span<std::byte> data) {
        Done buf;
        buf.op = op;
        buf.offset = offset;
        buf.bcount = data.size();
        buf.data = data.data();
        buf.iodone = [](Buf& done) { static_cast<Done&>(done).done = true; };
        device_->strategy(buf);
        for (ring_.dispatch(); !buf.done; ring_.dispatch()) ring_.wait();
        return buf.error;
    }

    int writes_of_the_worker(uint64_t offset, size_t bytes) {
        kernel_.by_the_worker = 0;
        const std::vector<std::byte> expected(bytes, std::byte{'w'});
        std::vector<std::byte> data = expected;
        EXPECT_EQ(perform(Buf::Op::write, offset, data), 0);
        data.assign(bytes, std::byte{0});
        EXPECT_EQ(perform(Buf::Op::read, offset, data), 0);
        EXPECT_EQ(data, expected);
        return kernel_.by_the_worker;
    }

    const test::RunFolder folder_{"/var/tmp"};
    ColdKernel kernel_;
    Ring ring_{32, true, kernel_};
    std::unique_ptr<Device> device_;
};

// The kernel would read the rest of the page from the disk, and the worker's other exports wait.
TEST_F(ColdFile, TheRingWritesAPartOfAPage) {
    EXPECT_EQ(writes_of_the_worker(512, 512), 0);
    EXPECT_EQ(writes_of_the_worker(65536, 4095), 0);
    EXPECT_EQ(writes_of_the_worker(4097, 4096), 0);
}

TEST_F(ColdFile, TheWorkerWritesWholePages) {
    EXPECT_EQ(writes_of_the_worker(8192, 4096), 1);
    EXPECT_EQ(writes_of_the_worker(1 << 20, 65536), 1);
}

// Each way is tried once, in this order, before their costs decide.
TEST_F(ColdFile, ALargeWriteToCachedPagesIsThereWhicheverWayItGoes) {
    kernel_.warm = true;
    constexpr size_t bytes = 128 << 10;
    EXPECT_EQ(writes_of_the_worker(0, bytes), 0);
    EXPECT_EQ(kernel_.copies, 1);
    EXPECT_EQ(writes_of_the_worker(bytes, bytes), 1);
    EXPECT_EQ(writes_of_the_worker(2 * bytes, bytes), 0);  // the ring
    EXPECT_EQ(kernel_.copies, 1);
}

// While a disk zeroes a range, lseek(2) waits there. lseek(2) would leave the position at the end.
TEST_F(ColdFile, ADisksEndIsFoundWithoutLseek) {
    const test::LoopDevice loop(folder_ / "disk.img");
    if (!loop.is_there()) GTEST_SKIP() << "SKIPPED: no loop device here: " << std::strerror(errno);
    const Descriptor disk(open(loop.path().c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(linux_kernel().seek(disk.get(), 0, SEEK_END), int64_t{4} << 20);
    EXPECT_EQ(lseek(disk.get(), 0, SEEK_CUR), 0);
}

// A full btrfs looks for space for tens of milliseconds at each write.
TEST_F(ColdFile, TheRingWritesForASecondAfterTheFilesystemWasFull) {
    std::vector<std::byte> page(4096);
    for (const int error : {ENOSPC, EDQUOT}) {
        kernel_.by_the_worker = 0;
        kernel_.lacks_space = error;
        EXPECT_EQ(perform(Buf::Op::write, 0, page), error);
        EXPECT_EQ(kernel_.by_the_worker, 1);
        kernel_.lacks_space = 0;
        EXPECT_EQ(writes_of_the_worker(8192, 4096), 0);
        kernel_.later_ns += 1'000'000'000;
        EXPECT_EQ(writes_of_the_worker(8192, 4096), 1);
        EXPECT_EQ(writes_of_the_worker(8192, 4096), 1);
    }
}

}  // namespace
}  // namespace blkscope
