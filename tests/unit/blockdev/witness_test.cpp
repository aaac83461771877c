// A failed FUA write must not count as a failed sync, nor a failed sync as a failed write.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "../driver/delegating_kernel.hpp"
#include "../loop_device.hpp"
#include "../temporary_folder.hpp"
#include "blockdev/backing/file_backing.hpp"
#include "blockdev/device/device.hpp"
#include "kstat/provider/instance.hpp"

namespace blkscope {
namespace {

constexpr uint64_t witness_mib = uint64_t{1} << 20;

Buf failed_fua_write(int error) {
    Buf buf;
    buf.op = Buf::Op::write;
    buf.fua = true;
    buf.bcount = buf.resid = 4096;
    buf.state = Buf::State::running;
    buf.error = error;
    return buf;
}

TEST(FailedFuaWrite, IsNoSyncUntilTheWitnessHasSpoken) {
    EXPECT_FALSE(failed_fua_write(EIO).syncs());
    Buf flush;
    flush.op = Buf::Op::flush;
    EXPECT_TRUE(flush.syncs());
}

class Witness : public ::testing::Test {
  protected:
    void SetUp() override {
        disks_ = folder_ / "disks";
        std::filesystem::create_directory(disks_);
    }
    void TearDown() override {
        stop();
        if (mounted_) {
            EXPECT_TRUE(unmounted()) << std::strerror(errno);
        }
    }

    // The kernel closes the files of a ring some moments after the ring.
    [[nodiscard]] bool unmounted() const {
        for (int i = 0; i < 500; ++i) {
            if (umount(disks_.c_str()) == 0) return true;
            if (errno != EBUSY) return false;
            usleep(10'000);
        }
        return false;
    }

    std::string image() {
        const std::string path = disks_ / "disk.img";
        std::ofstream(path).flush();
        std::filesystem::resize_file(path, 8 * witness_mib);
        return path;
    }

    void serve(const std::string& path) {
        ring_ = std::make_unique<Ring>(32);
        ring_->enable();
        data_ = static_cast<std::byte*>(std::aligned_alloc(4096, witness_mib));
        std::memset(data_, 'w', witness_mib);
        device_ =
            std::make_unique<Device>(*ring_, open_backing(path, {}), kstat::claim_instance("nbd"),
                                     DeviceOptions{.queue_depth = 8});
    }

    void stop() {
        device_.reset();
        ring_.reset();
        std::free(std::exchange(data_, nullptr));
    }

    struct Request : Buf {
        bool done = false;
    };

    /// Runs the buf and returns its errno.
    int perform(Buf::Op op, uint64_t offset, uint64_t bytes, bool fua = false) {
        Request request;
        request.op = op;
        request.offset = offset;
        request.bcount = bytes;
        request.fua = fua;
        request.no_hole = op == Buf::Op::write_zeroes;
        request.data = data_;
        request.iodone = [](Buf& buf) { static_cast<Request&>(buf).done = true; };
        device_->strategy(request);
        ring_->dispatch();
        while (!request.done) {
            ring_->wait();
            ring_->dispatch();
        }
        return request.error;
    }

    const test::RunFolder folder_{"/var/tmp"};
    std::filesystem::path disks_;
    bool mounted_ = false;
    std::unique_ptr<Ring> ring_;
    std::unique_ptr<Device> device_;
    std::byte* data_ = nullptr;
};

TEST_F(Witness, IsADescriptionOfItsOwn) {
    const OpenFile file = open_file(image(), {});
    FileBacking backing(file);
    ASSERT_GE(file.witness, 0);
    ASSERT_EQ(lseek(file.fd, 4096, SEEK_SET), 4096);
    EXPECT_EQ(lseek(file.witness, 0, SEEK_CUR), 0);  // a shared description shares its position
    EXPECT_EQ(open_file(image(), {.read_only = true}).witness, -1);
}

TEST_F(Witness, ThatHeardOfNoFailureLeavesTheWriteItsOwnError) {
    FileBacking backing(open_file(image(), {}));
    Buf buf = failed_fua_write(ENOSPC);
    ASSERT_TRUE(backing.more(buf));
    EXPECT_EQ(buf.step, Buf::Step::sync);
    EXPECT_EQ(buf.absorb(0), Buf::Next::finish);
    EXPECT_FALSE(backing.more(buf));
    EXPECT_EQ(buf.error, ENOSPC);
    EXPECT_EQ(buf.resid, 4096u);
    EXPECT_FALSE(buf.syncs());
}

TEST_F(Witness, ThatHeardOfAFailureMakesItAFailedSync) {
    FileBacking backing(open_file(image(), {}));
    Buf buf = failed_fua_write(ENOSPC);
    ASSERT_TRUE(backing.more(buf));
    EXPECT_EQ(buf.absorb(-EIO), Buf::Next::finish);
    EXPECT_FALSE(backing.more(buf));
    EXPECT_EQ(buf.error, EIO);
    EXPECT_TRUE(buf.syncs());
}

TEST_F(Witness, ThatIsMissingMakesEveryFailedFuaWriteAFailedSync) {
    OpenFile file = open_file(image(), {});
    ASSERT_EQ(close(file.witness), 0);
    file.witness = -1;
    FileBacking backing(file);
    Buf buf = failed_fua_write(ENOSPC);
    EXPECT_FALSE(backing.more(buf));
    EXPECT_EQ(buf.error, ENOSPC);
    EXPECT_TRUE(buf.syncs());
}

TEST_F(Witness, IsNotAskedWithoutFuaOrWithoutAnError) {
    FileBacking backing(open_file(image(), {}));
    Buf plain = failed_fua_write(ENOSPC);
    plain.fua = false;
    EXPECT_FALSE(backing.more(plain));
    EXPECT_EQ(plain.error, ENOSPC);
    Buf good = failed_fua_write(0);
    EXPECT_FALSE(backing.more(good));
    EXPECT_FALSE(plain.syncs() || good.syncs());
}

// If the device answers without the backing, the backing's fields still have the values of an
// earlier use.
TEST_F(Witness, IsAskedWhateverWayTheBufWentBefore) {
    FileBacking backing(open_file(image(), {}));
    for (const int way : {0, 1, 255}) {
        Buf buf = failed_fua_write(EIO);
        buf.zeroing_method = static_cast<uint8_t>(way);
        buf.write_error = way;
        buf.handed_to_ring = way;
        EXPECT_TRUE(backing.more(buf));
        EXPECT_EQ(buf.step, Buf::Step::sync);
        EXPECT_EQ(buf.write_error, EIO);
    }
}

class FailingWriteBack final : public testing::DelegatingKernel {
  public:
    int failed_write_back(int) override { return -EIO; }
};

TEST_F(Witness, AFuaRequestThatSucceededIsAskedWhetherAnotherOneWasToldOfItsFailure) {
    FailingWriteBack kernel;
    FileBacking backing(open_file(image(), {}), kernel);
    Buf write = failed_fua_write(0);
    EXPECT_FALSE(backing.more(write));
    EXPECT_EQ(write.error, EIO);
    EXPECT_TRUE(write.syncs());
    Buf plain = failed_fua_write(0);
    plain.fua = false;
    EXPECT_FALSE(backing.more(plain));
    EXPECT_EQ(plain.error, 0);
    Buf zeroes = failed_fua_write(0);
    zeroes.op = Buf::Op::write_zeroes;
    zeroes.step = Buf::Step::sync;
    EXPECT_FALSE(backing.more(zeroes));
    EXPECT_EQ(zeroes.error, EIO);
    EXPECT_TRUE(zeroes.syncs());
}

// Without the call, no request asks: a refusal is not a lost write.
TEST_F(Witness, WithoutTheRightToAskNoRequestAsks) {
    const std::string path = image();
    const auto without_right = [&path] {
        sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sync_file_range, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog filter{static_cast<unsigned short>(std::size(code)), code};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 77;
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 77;
        return open_file(path, {}).confirmer == -1 ? 0 : 1;
    };
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(without_right());
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "SKIPPED: no seccomp filters here";
    EXPECT_EQ(status, 0);
    const OpenFile file = open_file(path, {});
    EXPECT_GE(file.confirmer, 0);
    const FileBacking closes_it(file);
}

// On a small file system, which the test mounts.
class FullDisk : public Witness {
  protected:
    void SetUp() override {
        Witness::SetUp();
        if (mount("tmpfs", disks_.c_str(), "tmpfs", 0, "size=1M") != 0) {
            GTEST_SKIP() << "SKIPPED: cannot mount a file system here: " << std::strerror(errno);
        }
        mounted_ = true;
        const std::string path = image();
        fill();
        serve(path);
        ASSERT_EQ(perform(Buf::Op::flush, 0, 0), 0);
    }
    void fill() { std::ofstream(disks_ / "filler") << std::string(witness_mib - 16384, 'f'); }
    void make_room() { std::filesystem::remove(disks_ / "filler"); }
};

TEST_F(FullDisk, AFuaWriteThatFindsNoSpaceLeavesLaterFlushesAndFuaWritesAlone) {
    EXPECT_EQ(perform(Buf::Op::write, witness_mib, 65536, true), ENOSPC);
    EXPECT_EQ(perform(Buf::Op::flush, 0, 0), 0);
    make_room();
    EXPECT_EQ(perform(Buf::Op::flush, 0, 0), 0);
    EXPECT_EQ(perform(Buf::Op::write, witness_mib, 65536, true), 0);
}

TEST_F(FullDisk, ZeroingThatFindsNoSpaceLeavesLaterFlushesAlone) {
    EXPECT_EQ(perform(Buf::Op::write_zeroes, witness_mib, witness_mib, true), ENOSPC);
    EXPECT_EQ(perform(Buf::Op::flush, 0, 0), 0);
    make_room();
    EXPECT_EQ(perform(Buf::Op::write_zeroes, witness_mib, 65536, true), 0);
    EXPECT_EQ(perform(Buf::Op::flush, 0, 0), 0);
}

// Such a disk's writes succeed. Writing the data back to a file without room fails later.
TEST_F(FullDisk, AFailedSyncThatWasForgottenIsNotToldAgain) {
    stop();
    const test::LoopDevice loop(disks_ / "disk.img");
    if (!loop.is_there()) GTEST_SKIP() << "SKIPPED: no loop device here: " << std::strerror(errno);
    serve(loop.path());
    // Of a write for which there is some room, the kernel says nothing.
    perform(Buf::Op::write, 2 * witness_mib, 65536, true);
    for (const bool fua : {true, false}) {
        EXPECT_EQ(perform(Buf::Op::write, witness_mib, 65536, fua), fua ? EIO : 0);
        EXPECT_EQ(perform(Buf::Op::flush, 0, 0), EIO);
        make_room();
        EXPECT_EQ(perform(Buf::Op::flush, 0, 0), EIO);
        ring_->unlock();
        EXPECT_TRUE(device_->clear_sync_error());
        EXPECT_EQ(perform(Buf::Op::write, 3 * witness_mib, 4096, true), 0);
        EXPECT_EQ(perform(Buf::Op::flush, 0, 0), 0);
        ring_->unlock();
        fill();
    }
    stop();
}

// The kernel tells a failure to one of the writes under way, which need not be the one that failed.
TEST_F(FullDisk, AFuaWriteThatSucceedsIsOnTheDiskWhateverFailsBesideIt) {
    stop();
    const std::string path = disks_ / "disk.img";
    const test::LoopDevice loop(path);
    if (!loop.is_there()) GTEST_SKIP() << "SKIPPED: no loop device here: " << std::strerror(errno);
    for (int round = 0; round < 20; ++round) {
        serve(loop.path());
        std::array<Request, 8> requests;
        for (size_t i = 0; i < requests.size(); ++i) {
            Request& request = requests[i];
            request.op = Buf::Op::write;
            request.offset = i * 65536;
            request.bcount = 4096;
            request.fua = true;
            request.data = data_;
            request.iodone = [](Buf& buf) { static_cast<Request&>(buf).done = true; };
            device_->strategy(request);
        }
        ring_->dispatch();
        const auto is_done = [](const Request& request) { return request.done; };
        while (!std::ranges::all_of(requests, is_done)) {
            ring_->wait();
            ring_->dispatch();
        }
        std::ifstream disk(path);
        for (const Request& request : requests) {
            char byte = 0;
            disk.seekg(static_cast<std::streamoff>(request.offset));
            disk.read(&byte, 1);
            EXPECT_TRUE(request.error != 0 || byte == 'w') << round << " " << request.offset;
        }
        stop();
    }
}

}  // namespace
}  // namespace blkscope
