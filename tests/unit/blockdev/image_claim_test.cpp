// Claims on images. Another description of the file stands for another program: the locks are of
// descriptions, not of processes.

#include "blockdev/backing/image_claim.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "../loop_device.hpp"
#include "base/descriptor.hpp"

namespace blkscope {
namespace {

class Claims : public ::testing::Test {
  protected:
    void SetUp() override {
        path_ = "/tmp/blkscope_test.XXXXXX";
        ours_ = mkstemp(path_.data());
        ASSERT_GE(ours_, 0);
        other_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
        ASSERT_GE(other_, 0);
    }
    void TearDown() override {
        close(ours_);
        close(other_);
        unlink(path_.c_str());
    }

    std::shared_ptr<const ImageClaim> claim(ImageUse use) {
        return claim_image(ours_, "disk.img", use);
    }
    // Nothing, or why not.
    std::string refusal(ImageUse use) {
        try {
            claim(use);
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return {};
    }

    // The other program's lock.
    void other_locks(short type, off_t byte, off_t bytes = 1) const {
        struct flock lock {};
        lock.l_type = type;
        lock.l_start = byte;
        lock.l_len = bytes;
        ASSERT_EQ(fcntl(other_, F_OFD_SETLK, &lock), 0);
    }
    // Bytes that the other program finds locked.
    [[nodiscard]] std::vector<off_t> locked() const {
        std::vector<off_t> found;
        for (off_t byte = 0; byte < 300; ++byte) {
            struct flock lock {};
            lock.l_type = F_WRLCK;
            lock.l_start = byte;
            lock.l_len = 1;
            if (fcntl(other_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) {
                found.push_back(byte);
            }
        }
        return found;
    }

    // Of each descriptor of this process that has a lock on the image: the access mode.
    [[nodiscard]] std::vector<int> access_modes_with_locks() const {
        std::vector<int> found;
        for (const auto& info : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
            const auto file = "/proc/self/fd" / info.path().filename();
            std::error_code none;
            if (!std::filesystem::equivalent(file, path_, none)) continue;
            std::ifstream lines(info.path());
            int flags = 0;
            for (std::string line; std::getline(lines, line);) {
                if (line.rfind("flags:", 0) == 0) flags = std::stoi(line.substr(6), nullptr, 8);
                if (line.rfind("lock:", 0) == 0) found.push_back(flags & O_ACCMODE);
            }
        }
        return found;
    }

    std::string path_;
    int ours_ = -1;
    int other_ = -1;
};

TEST_F(Claims, ToWriteAreAnFlock) {
    auto reader = claim(ImageUse::read);
    EXPECT_EQ(flock(other_, LOCK_EX | LOCK_NB), 0);
    EXPECT_EQ(flock(other_, LOCK_UN), 0);
    auto writer = claim(ImageUse::write);
    EXPECT_EQ(flock(other_, LOCK_SH | LOCK_NB), -1);
    writer.reset();
    EXPECT_EQ(flock(other_, LOCK_EX | LOCK_NB), 0);
}

// NFS gives an exclusive flock(2) to no other.
TEST_F(Claims, ToWriteAreHeldByADescriptionThatMayWrite) {
    const auto reader = claim(ImageUse::read);
    const auto writer = claim(ImageUse::write);
    EXPECT_EQ(access_modes_with_locks(), (std::vector<int>{O_RDWR}));
}

// NFS shows a process its own lock as that of another program. Also, qemu may come after us.
TEST_F(Claims, OfAProcessThatMayWriteLookForNoOtherUser) {
    const auto writer = claim(ImageUse::write);
    other_locks(F_RDLCK, 0, 0);
    EXPECT_EQ(refusal(ImageUse::write), "");
    EXPECT_EQ(refusal(ImageUse::read), "");
}

TEST_F(Claims, LockNoByteThatQemuLooksAt) {
    const auto reader = claim(ImageUse::read);
    const auto writer = claim(ImageUse::write);
    EXPECT_EQ(locked(), (std::vector<off_t>{}));
}

TEST_F(Claims, OfAUserWhoInsistsForbidNothing) {
    const auto writer = claim(ImageUse::write_shared);
    EXPECT_EQ(flock(other_, LOCK_EX | LOCK_NB), 0);
    EXPECT_EQ(locked(), (std::vector<off_t>{}));
}

TEST_F(Claims, OfOneProcessAreNotInEachOthersWay) {
    const auto one = claim(ImageUse::write_shared);
    const auto two = claim(ImageUse::write);
    auto three = claim(ImageUse::write);
    three.reset();
    EXPECT_EQ(flock(other_, LOCK_SH | LOCK_NB), -1);
}

TEST_F(Claims, ToWriteAreRefusedWhereOthersWrite) {
    for (const off_t byte : {101, 103, 200, 201}) {
        other_locks(F_RDLCK, byte);
        EXPECT_NE(refusal(ImageUse::write), "") << byte;
        EXPECT_NE(claim(ImageUse::write_shared), nullptr) << byte;
        EXPECT_EQ(refusal(ImageUse::read) == "", byte != 200) << byte;
        EXPECT_EQ(locked(), (std::vector<off_t>{})) << byte;
        other_locks(F_UNLCK, byte);
        EXPECT_EQ(refusal(ImageUse::write), "") << byte;
    }
}

TEST_F(Claims, StandBesideReaders) {
    other_locks(F_RDLCK, 100);
    EXPECT_EQ(refusal(ImageUse::write), "");
}

TEST_F(Claims, AreRefusedWhereAnotherHasTheWholeFile) {
    other_locks(F_WRLCK, 0, 0);
    EXPECT_NE(refusal(ImageUse::write), "");
    EXPECT_NE(refusal(ImageUse::read), "");
    EXPECT_NE(claim(ImageUse::read_shared), nullptr);
}

TEST_F(Claims, ToWriteAreRefusedWhereAnotherHasAnFlock) {
    ASSERT_EQ(flock(other_, LOCK_SH), 0);
    EXPECT_NE(refusal(ImageUse::write), "");
    EXPECT_EQ(refusal(ImageUse::read), "");
}

TEST_F(Claims, ThatAreRefusedSayWhatToDo) {
    other_locks(F_WRLCK, 0, 0);
    const std::string writer = refusal(ImageUse::write);
    EXPECT_EQ(writer.rfind("open disk.img: it is in use: ", 0), 0u) << writer;
    EXPECT_NE(writer.find("--read-only, or insist with --force-shared"), std::string::npos);
    EXPECT_EQ(refusal(ImageUse::read).find("--read-only"), std::string::npos);
    const std::string alone = refusal(ImageUse::write_alone);
    EXPECT_TRUE(alone.ends_with("; end that first")) << alone;
}

// One of them keeps writes to itself, which the other would not see.
TEST_F(Claims, ToWriteAloneExcludeAllOtherWritersOfThisProcess) {
    auto alone = claim(ImageUse::write_alone);
    for (const ImageUse use : {ImageUse::write, ImageUse::write_alone, ImageUse::write_shared}) {
        EXPECT_EQ(refusal(use),
                  "open disk.img: this server writes to it already, and a crash cache must be the "
                  "only one that writes");
    }
    EXPECT_EQ(refusal(ImageUse::read), "");
    EXPECT_EQ(flock(other_, LOCK_SH | LOCK_NB), -1);
    alone.reset();
    EXPECT_EQ(flock(other_, LOCK_SH | LOCK_NB), 0);
    EXPECT_EQ(flock(other_, LOCK_UN), 0);
    for (const ImageUse use : {ImageUse::write, ImageUse::write_shared}) {
        const auto other = claim(use);
        EXPECT_NE(refusal(ImageUse::write_alone), "");
    }
    EXPECT_EQ(refusal(ImageUse::write_alone), "");
}

// Claims on loop devices of the file.
class ClaimsOnLoopDevices : public Claims {
  protected:
    void SetUp() override {
        Claims::SetUp();
        ASSERT_EQ(ftruncate(ours_, off_t{4} << 20), 0);
        if (!add_loop_device()) {
            GTEST_SKIP() << "SKIPPED: no loop device here: " << std::strerror(errno);
        }
    }

    /// Another loop device of the file, or of a part of it.
    bool add_loop_device(uint64_t offset = 0, uint64_t bytes = 0) {
        const test::LoopDevice& device = devices_.emplace_back(path_);
        const Descriptor disk(open(device.path().c_str(), O_RDWR | O_CLOEXEC));
        if (!device.is_there() || !disk.is_open()) return false;
        loop_info64 info{};
        info.lo_offset = offset;
        info.lo_sizelimit = bytes;
        return ioctl(disk.get(), LOOP_SET_STATUS64, &info) == 0;
    }
    /// A claim on the last device.
    [[nodiscard]] std::shared_ptr<const ImageClaim> claim_disk(ImageUse use) const {
        const Descriptor disk(open(devices_.back().path().c_str(), O_RDWR | O_CLOEXEC));
        return claim_image(disk.get(), "the disk", use);
    }
    [[nodiscard]] std::string refusal_of_disk(ImageUse use) const {
        try {
            return claim_disk(use) != nullptr ? "" : "no claim";
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }

    std::list<test::LoopDevice> devices_;
};

TEST_F(ClaimsOnLoopDevices, ToWriteAreRefusedWhereAnotherWritesToTheFile) {
    ASSERT_EQ(flock(other_, LOCK_EX), 0);
    const std::string why = refusal_of_disk(ImageUse::write);
    EXPECT_EQ(why.rfind("open the disk: it is in use: its file is locked by process ", 0), 0u)
        << why;
    EXPECT_NE(why.find("--read-only, or insist with --force-shared"), std::string::npos) << why;
    EXPECT_EQ(refusal_of_disk(ImageUse::read), "");
    EXPECT_EQ(refusal_of_disk(ImageUse::write_shared), "");
    ASSERT_EQ(flock(other_, LOCK_UN), 0);
    EXPECT_EQ(refusal_of_disk(ImageUse::write), "");
    other_locks(F_RDLCK, 101);
    EXPECT_NE(refusal_of_disk(ImageUse::write), "");
}

TEST_F(ClaimsOnLoopDevices, ToWriteLockTheFile) {
    const auto reader = claim_disk(ImageUse::read);
    EXPECT_EQ(flock(other_, LOCK_EX | LOCK_NB), 0);
    EXPECT_EQ(flock(other_, LOCK_UN), 0);
    auto writer = claim_disk(ImageUse::write);
    EXPECT_EQ(flock(other_, LOCK_SH | LOCK_NB), -1);
    writer.reset();
    EXPECT_EQ(flock(other_, LOCK_SH | LOCK_NB), 0);
}

TEST_F(ClaimsOnLoopDevices, AreRefusedForASecondDeviceOfTheSameBytes) {
    const auto writer = claim_disk(ImageUse::write);
    ASSERT_TRUE(add_loop_device());
    EXPECT_NE(refusal_of_disk(ImageUse::write), "");
}

TEST_F(ClaimsOnLoopDevices, OfTwoPartsOfAFileAreNotInEachOthersWay) {
    ASSERT_TRUE(add_loop_device(0, 2 << 20));
    const auto writer = claim_disk(ImageUse::write);
    ASSERT_TRUE(add_loop_device(2 << 20));
    EXPECT_EQ(refusal_of_disk(ImageUse::write), "");
    EXPECT_EQ(flock(other_, LOCK_EX | LOCK_NB), -1);
}

// The path that the kernel tells may have another file by now.
TEST_F(ClaimsOnLoopDevices, DoNotLookForAFileThatWasDeleted) {
    ASSERT_EQ(flock(other_, LOCK_EX), 0);
    ASSERT_EQ(unlink(path_.c_str()), 0);
    EXPECT_EQ(refusal_of_disk(ImageUse::write), "");
    std::ofstream(path_) << "another file";
    EXPECT_EQ(refusal_of_disk(ImageUse::write), "");
}

}  // namespace
}  // namespace blkscope
