// Disks and file systems that cannot do, or refuse, what a trim, zeroes or direct I/O need.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include "../driver/delegating_kernel.hpp"
#include "../loop_device.hpp"
#include "../temporary_folder.hpp"
#include "base/descriptor.hpp"
#include "blockdev/backing/file_backing.hpp"
#include "blockdev/device/device.hpp"
#include "kstat/provider/instance.hpp"

namespace blkscope {
namespace {

constexpr uint64_t image_bytes = uint64_t{4} << 20;

void make_image(const std::string& path, uint64_t bytes = image_bytes) {
    std::ofstream(path).flush();
    std::filesystem::resize_file(path, bytes);
}

// Counts the discards of a disk, or answers them itself.
class DiscardingKernel final : public blkscope::testing::DelegatingKernel {
  public:
    int discard(int fd, uint64_t at, uint64_t bytes) override {
        ++discards;
        first = at;
        size = bytes;
        return error != 0 ? -error : DelegatingKernel::discard(fd, at, bytes);
    }

    std::atomic<int> discards = 0;
    uint64_t first = 0;
    uint64_t size = 0;
    int error = 0;
};

class TrimOfADisk : public ::testing::Test {
  protected:
    void SetUp() override {
        make_image(folder_ / "disk.img");
        loop_ = std::make_unique<test::LoopDevice>(folder_ / "disk.img");
        if (!loop_->is_there()) {
            GTEST_SKIP() << "SKIPPED: no loop device here: " << std::strerror(errno);
        }
        ring_.enable();
        open_device();
    }

    void open_device() {
        device_.reset();
        const OpenFile file = open_file(loop_->path(), {});
        offered_ = file.trims;
        device_ =
            std::make_unique<Device>(ring_, std::make_unique<FileBacking>(file, kernel_),
                                     kstat::claim_instance("nbd"), DeviceOptions{.queue_depth = 8});
    }

    struct Done : Buf {
        bool done = false;
    };

    int trim(uint64_t offset, uint64_t bytes) {
        Done buf;
        buf.op = Buf::Op::trim;
        buf.offset = offset;
        buf.bcount = bytes;
        buf.iodone = [](Buf& done) { static_cast<Done&>(done).done = true; };
        device_->strategy(buf);
        for (ring_.dispatch(); !buf.done; ring_.dispatch()) ring_.wait();
        return buf.error;
    }

    const test::RunFolder folder_{"/var/tmp"};
    std::unique_ptr<test::LoopDevice> loop_;
    DiscardingKernel kernel_;
    Ring ring_{32, true, kernel_};
    std::unique_ptr<Device> device_;
    bool offered_ = false;
};

TEST_F(TrimOfADisk, IsADiscardOfItsWholeSectors) {
    EXPECT_TRUE(offered_);
    EXPECT_EQ(trim(65536 - 100, 131072), 0);
    EXPECT_EQ(kernel_.discards, 1);
    EXPECT_EQ(kernel_.first, 65536u);
    EXPECT_EQ(kernel_.size, 131072u - 512);
    EXPECT_EQ(trim(100, 511), 0);  // no whole sector
    EXPECT_EQ(kernel_.discards, 1);
}

TEST_F(TrimOfADisk, ThatHasNoneIsTriedOnce) {
    for (const int error : {EOPNOTSUPP, ENOSYS, ENOTTY, ENODEV}) {
        open_device();
        kernel_.discards = 0;
        kernel_.error = error;
        EXPECT_EQ(trim(0, 4096), 0);
        EXPECT_EQ(trim(0, 4096), 0);
        EXPECT_EQ(kernel_.discards, 1);
    }
}

TEST_F(TrimOfADisk, ThatIsRefusedIsAHintThatHadNoEffect) {
    for (const int error : {EINVAL, EPERM, EACCES, EBUSY}) {
        kernel_.discards = 0;
        kernel_.error = error;
        EXPECT_EQ(trim(0, 4096), 0);
        kernel_.error = 0;
        EXPECT_EQ(trim(0, 4096), 0);
        EXPECT_EQ(kernel_.discards, 2);
    }
}

TEST_F(TrimOfADisk, ThatFailsIsAnError) {
    kernel_.error = EIO;
    EXPECT_EQ(trim(0, 4096), EIO);
}

// One of zeroes whose first method has just ended with this error.
Buf failed_zeroes(int error) {
    Buf buf;
    buf.op = Buf::Op::write_zeroes;
    buf.bcount = buf.resid = 4096;
    buf.error = error;
    return buf;
}

TEST(Refusal, OfAMethodForZeroesIsNoErrorAndTheNextOneIsTried) {
    const test::TemporaryFolder folder("/var/tmp");
    make_image(folder / "disk.img");
    for (const int error : {EOPNOTSUPP, ENOSYS, ENODEV, ENOTTY, EINVAL, EPERM, EACCES, EBUSY}) {
        FileBacking backing(open_file(folder / "disk.img", {}));
        Buf zeroes = failed_zeroes(error);
        EXPECT_TRUE(backing.more(zeroes)) << error;
        EXPECT_EQ(zeroes.error, 0);
        zeroes.error = error;
        EXPECT_TRUE(backing.more(zeroes)) << error;
        zeroes.error = error;  // of the write, the last method
        EXPECT_FALSE(backing.more(zeroes)) << error;
        EXPECT_EQ(zeroes.error, error);
    }
}

TEST(Refusal, OfAnotherKindIsTheRequestsError) {
    const test::TemporaryFolder folder("/var/tmp");
    make_image(folder / "disk.img");
    FileBacking backing(open_file(folder / "disk.img", {}));
    for (const int error : {EIO, ENOSPC}) {
        Buf zeroes = failed_zeroes(error);
        EXPECT_FALSE(backing.more(zeroes));
        EXPECT_EQ(zeroes.error, error);
    }
}

// A file system in memory without fallocate(2) and without O_DIRECT. It is mounted nowhere, and gone with its
// descriptor.
class OnRamfs : public ::testing::Test {
  protected:
    void SetUp() override {
        const Descriptor context(fsopen("ramfs", FSOPEN_CLOEXEC));
        if (context.is_open()) fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0);
        if (context.is_open()) mount_ = Descriptor(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
        if (!mount_.is_open()) {
            GTEST_SKIP() << "SKIPPED: no ramfs here: " << std::strerror(errno);
        }
        path_ = "/proc/self/fd/" + std::to_string(mount_.get()) + "/disk.img";
        make_image(path_);
    }

    Descriptor mount_;
    std::string path_;
};

TEST_F(OnRamfs, ATrimIsNotOffered) {
    const FileBacking backing(open_file(path_, {}));
    EXPECT_FALSE(backing.abilities().trim);
    EXPECT_TRUE(backing.abilities().write_zeroes);
}

TEST_F(OnRamfs, DirectIsRefusedForTheTrueReason) {
    try {
        const FileBacking backing(open_file(path_, {.direct = true}));
        FAIL() << "opened";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), EINVAL);
        EXPECT_NE(std::string(error.what()).find("has no direct I/O"), std::string::npos)
            << error.what();
    }
}

TEST(Trim, IsOfferedByAFileSystemWithHoles) {
    const test::TemporaryFolder folder("/dev/shm");
    make_image(folder / "disk.img");
    EXPECT_TRUE(FileBacking(open_file(folder / "disk.img", {})).abilities().trim);
    EXPECT_EQ(std::filesystem::file_size(folder / "disk.img"), image_bytes);
}

// tmpfs tells of no alignment, and takes any where it takes O_DIRECT at all (Linux 6.6).
TEST(DirectIo, OfAFileWhoseAlignmentIsNotToldIsTried) {
    constexpr auto tmpfs_magic = 0x01021994;
    struct statfs info {};
    if (statfs("/dev/shm", &info) != 0 || info.f_type != tmpfs_magic) {
        GTEST_SKIP() << "SKIPPED: /dev/shm is no tmpfs here";
    }
    const test::TemporaryFolder folder("/dev/shm");
    for (const uint64_t bytes : {uint64_t{2049} * 512, uint64_t{1000}, uint64_t{1}}) {
        make_image(folder / "disk.img", bytes);
        try {
            const FileBacking backing(open_file(folder / "disk.img", {.direct = true}));
            EXPECT_EQ(backing.size_bytes(), bytes);
            EXPECT_EQ(bytes % backing.block_bytes(), 0u);
        } catch (const std::system_error& error) {
            EXPECT_NE(std::string(error.what()).find("has no direct I/O"), std::string::npos)
                << error.what();
        }
    }
}

}  // namespace
}  // namespace blkscope
