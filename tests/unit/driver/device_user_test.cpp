// The user of an nbd device, on simulated machines.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "driver/attach/attach.hpp"

namespace blkscope {
namespace {

namespace fs = std::filesystem;

class DeviceUser : public testing::Test {
  protected:
    void SetUp() override {
        char path[] = "/tmp/blkscope_test.XXXXXX";
        ASSERT_NE(mkdtemp(path), nullptr);
        folder_ = path;
        write("proc/self/mounts", "proc /proc proc rw 0 0\n/dev/nbd01 /other ext4 rw 0 0\n");
        write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n");
        fs::create_directories(folder_ / "sys/block/nbd0/holders");
    }
    void TearDown() override { fs::remove_all(folder_); }

    void write(const std::string& file, const std::string& text) {
        fs::create_directories((folder_ / file).parent_path());
        std::ofstream(folder_ / file) << text;
    }
    void open_in(const std::string& pid, const std::string& name, const std::string& target) {
        write("proc/" + pid + "/comm", name + "\n");
        fs::create_directories(folder_ / "proc" / pid / "fd");
        fs::create_symlink("/dev/null", folder_ / "proc" / pid / "fd/0");
        fs::create_symlink(target, folder_ / "proc" / pid / "fd/7");
    }
    [[nodiscard]] std::string user() const {
        return device_user("/dev/nbd0", {folder_ / "proc", folder_ / "sys"}).value_or("nobody");
    }

    fs::path folder_;
};

TEST_F(DeviceUser, IsNobodyWhereOnlyOthersAreUsed) {
    open_in("12", "cat", "/dev/nbd01");
    EXPECT_EQ(user(), "nobody");
}

TEST_F(DeviceUser, IsAMountedFileSystemOfTheDiskOrAPartition) {
    write("proc/self/mounts", "/dev/nbd0p1 /mnt/a\\040disk ext4 rw 0 0\n");
    EXPECT_EQ(user(), "mounted on /mnt/a disk");
    write("proc/self/mounts", "/dev/nbd0 /mnt ext4 rw 0 0\n");
    EXPECT_EQ(user(), "mounted on /mnt");
}

TEST_F(DeviceUser, IsSwapSpace) {
    write("proc/swaps", "Filename\tType\n/dev/nbd0p2 partition\t1\n");
    EXPECT_EQ(user(), "swap space");
}

TEST_F(DeviceUser, IsADeviceOnTopOfTheDiskOrAPartition) {
    write("sys/block/nbd0/nbd0p1/partition", "1\n");
    fs::create_directories(folder_ / "sys/block/nbd0/nbd0p1/holders/dm-3");
    EXPECT_EQ(user(), "held by dm-3");
}

TEST_F(DeviceUser, IsAProcessThatHasItOpenButForItsOwnClient) {
    write("sys/block/nbd0/pid", "40\n");
    open_in("40", "nbd-client", "/dev/nbd0");
    EXPECT_EQ(user(), "nobody");
    open_in("41", "fio", "/dev/nbd0");
    EXPECT_EQ(user(), "open in process 41 (fio)");
}

}  // namespace
}  // namespace blkscope
