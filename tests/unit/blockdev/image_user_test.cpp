// The users of disks and images, on simulated machines.
#include "blockdev/backing/image_user.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "../temporary_folder.hpp"

namespace blkscope {
namespace {

namespace fs = std::filesystem;

class DeviceUser : public ::testing::Test {
  protected:
    void SetUp() override {
        write("proc/self/mounts", "proc /proc proc rw 0 0\n/dev/nbd01 /other ext4 rw 0 0\n");
        write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n");
        fs::create_directories(folder_ / "sys/block/nbd0/holders");
    }

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
    [[nodiscard]] SystemRoots roots() const {
        return {.proc = folder_ / "proc", .sys = folder_ / "sys", .self = 99};
    }
    [[nodiscard]] std::string user(const std::string& device = "/dev/nbd0") const {
        return device_user(device, roots()).value_or("nobody");
    }
    [[nodiscard]] struct stat image() const {
        std::ofstream(folder_ / "disk.img").flush();
        struct stat found {};
        EXPECT_EQ(stat((folder_ / "disk.img").c_str(), &found), 0);
        return found;
    }

    const test::TemporaryFolder folder_;
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

TEST_F(DeviceUser, IsNotThisProcess) {
    open_in("99", "blkscope", "/dev/nbd0");
    EXPECT_EQ(user(), "nobody");
}

TEST_F(DeviceUser, KnowsPartitionsThatAreNumberedWithoutALetter) {
    write("proc/self/mounts", "/dev/sda1 /mnt ext4 rw 0 0\n/dev/sdab1 /other ext4 rw 0 0\n");
    EXPECT_EQ(user("/dev/sda"), "mounted on /mnt");
    EXPECT_EQ(user("/dev/sda1"), "mounted on /mnt");
    EXPECT_EQ(user("/dev/sda11"), "nobody");
    EXPECT_EQ(user("/dev/sdb"), "nobody");
    fs::create_directories(folder_ / "sys/class/block/sdc1/holders/md0");
    EXPECT_EQ(user("/dev/sdc1"), "held by md0");
}

TEST_F(DeviceUser, OfAFileIsAProcessWithALockOnIt) {
    const struct stat file = image();
    open_in("41", "less", folder_ / "disk.img");
    EXPECT_EQ(file_locker(file, roots()), std::nullopt);
    open_in("99", "blkscope", folder_ / "disk.img");
    write("proc/99/fdinfo/7", "pos:\t0\nlock:\t1: OFDLCK ADVISORY  READ -1 fe:00:1 100 101\n");
    EXPECT_EQ(file_locker(file, roots()), std::nullopt);  // this process
    open_in("42", "qemu-nbd", folder_ / "disk.img");
    write("proc/42/fdinfo/7", "pos:\t0\nlock:\t1: OFDLCK ADVISORY  READ -1 fe:00:1 100 101\n");
    EXPECT_EQ(file_locker(file, roots()), "locked by process 42 (qemu-nbd)");
}

TEST_F(DeviceUser, OfAFileIsALoopDeviceThatMayWriteToIt) {
    const struct stat file = image();
    write("sys/block/loop0/loop/backing_file", "/nonexistent/disk.img (deleted)\n");
    EXPECT_EQ(loop_device(file, roots()), std::nullopt);
    write("sys/block/loop1/loop/backing_file", (folder_ / "disk.img").string() + "\n");
    write("sys/block/loop1/ro", "1\n");
    EXPECT_EQ(loop_device(file, roots()), std::nullopt);
    write("sys/block/loop1/ro", "0\n");
    EXPECT_EQ(loop_device(file, roots()), "the file of /dev/loop1");
}

}  // namespace
}  // namespace blkscope
