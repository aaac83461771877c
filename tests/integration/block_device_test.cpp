// A block device behind the server: data in the page cache, other programs' claims, and disks that are read-only.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "../unit/loop_device.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

constexpr size_t length = 65536;

class BlockDevice : public ServedDevice {
  protected:
    void make_disk(int mode = O_RDWR) {
        disk_.emplace(make_image("disk.img", 8 * mib), mode);
        if (!disk_->is_there())
            GTEST_SKIP() << "SKIPPED: no loop device here: " << std::strerror(errno);
    }
    void TearDown() override {
        ServedDevice::TearDown();
        disk_.reset();
    }

    std::optional<LoopDevice> disk_;
};

bool all_are(const std::vector<char>& bytes, char value) {
    return std::ranges::all_of(bytes, [&](char byte) { return byte == value; });
}

// The kernel drops pages that are to be written back only for a description with O_EXCL.
TEST_F(BlockDevice, ZeroesAndTrimsWhatIsNotWrittenBackYet) {
    make_disk();
    if (IsSkipped()) return;
    serve(disk_->path());
    Client client(uri());
    for (const uint32_t flags :
         {0U, unsigned{LIBNBD_CMD_FLAG_FUA}, unsigned{LIBNBD_CMD_FLAG_FAST_ZERO},
          unsigned{LIBNBD_CMD_FLAG_NO_HOLE}}) {
        ASSERT_EQ(client.try_write(0, 2 * length), 0);
        EXPECT_EQ(nbd_zero(client.get(), length, 0, flags), 0) << flags << " " << nbd_get_error();
        EXPECT_TRUE(all_are(client.read(0, length), 0)) << flags;
        EXPECT_TRUE(all_are(client.read(length, length), 'x')) << flags;
    }
    ASSERT_EQ(client.try_write(0, 2 * length), 0);
    EXPECT_EQ(nbd_trim(client.get(), length, 0, 0), 0) << nbd_get_error();
    EXPECT_TRUE(all_are(client.read(0, length), 0))
        << "a loop device has nothing where it was trimmed";
    EXPECT_TRUE(all_are(client.read(length, length), 'x'));
}

TEST_F(BlockDevice, WritesZeroesWhereAnotherProgramHasClaimedTheDisk) {
    make_disk();
    if (IsSkipped()) return;
    const Descriptor other(open(disk_->path().c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
    ASSERT_TRUE(other.is_open());
    serve(disk_->path(), {"--force-shared"});
    Client client(uri());
    ASSERT_EQ(client.try_write(0, 2 * length), 0);
    EXPECT_EQ(nbd_trim(client.get(), length, 0, 0), 0) << nbd_get_error();
    EXPECT_TRUE(all_are(client.read(0, length), 'x')) << "a hint that could not be taken";
    EXPECT_EQ(nbd_zero(client.get(), length, 0, LIBNBD_CMD_FLAG_FAST_ZERO), -1);
    EXPECT_EQ(nbd_get_errno(), ENOTSUP);
    EXPECT_EQ(nbd_zero(client.get(), length - 512, 512, 0), 0) << nbd_get_error();
    EXPECT_TRUE(all_are(client.read(512, length - 512), 0));
    EXPECT_TRUE(all_are(client.read(0, 512), 'x'));
    EXPECT_TRUE(all_are(client.read(length, length), 'x'));
    ASSERT_EQ(nbd_flush(client.get(), 0), 0);
    EXPECT_EQ(nbd_zero(client.get(), length, length, LIBNBD_CMD_FLAG_FAST_ZERO), 0)
        << "tried again";
    EXPECT_TRUE(all_are(client.read(length, length), 0));
}

// The kernel zeroes the part in front of the end, and says that all is well.
TEST_F(BlockDevice, ZeroesThatCrossTheEndOfAShrunkDiskFail) {
    make_disk();
    if (IsSkipped()) return;
    serve(disk_->path());
    Client client(uri());
    ASSERT_EQ(client.try_write(0, 2 * length), 0);
    ASSERT_TRUE(disk_->shrink_to(2 * mib));
    for (const uint32_t flags : {0U, unsigned{LIBNBD_CMD_FLAG_NO_HOLE}}) {
        EXPECT_EQ(nbd_zero(client.get(), length, 2 * mib - length / 2, flags), -1) << flags;
        EXPECT_EQ(nbd_get_errno(), ENOSPC) << flags;
        EXPECT_EQ(nbd_zero(client.get(), length, 2 * mib - length, flags), 0) << nbd_get_error();
    }
}

TEST_F(BlockDevice, ThatIsReadOnlyIsServedReadOnlyOrNotAtAll) {
    make_disk(O_RDONLY);
    if (IsSkipped()) return;
    EXPECT_EQ(
        refused({"serve", disk_->path(), "--unix", path("other")}, 1),
        "blkscope: open " + disk_->path() + ": the disk is read-only; serve it with --read-only\n");
    serve(disk_->path(), {"--read-only"});
    Client client(uri());
    EXPECT_EQ(nbd_is_read_only(client.get()), 1);
    EXPECT_EQ(client.try_read(0, length), 0);
}

}  // namespace
}  // namespace blkscope::test
