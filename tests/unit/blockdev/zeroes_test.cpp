// Zeroing, holes and read-ahead, on each kind of backing and on a file system without ZERO_RANGE.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "blockdev/device/device.hpp"
#include "kstat/provider/instance.hpp"

namespace blkscope {
namespace {

constexpr uint64_t zero_mib = uint64_t{1} << 20;
constexpr uint64_t zero_kib = 1024;

struct Request : Buf {
    Request(Op what, uint64_t at, uint64_t bytes) {
        op = what;
        offset = at;
        bcount = bytes;
        iodone = [](Buf& buf) { static_cast<Request&>(buf).done = true; };
    }
    bool done = false;
};

class Zeroes : public ::testing::Test {
  protected:
    /// A device of 32 MiB: memory, null, or a file in `folder`, all holes.
    void make(const std::string& kind, const std::string& folder = "/var/tmp") {
        std::string path = folder + "/zeroes_test.XXXXXX";
        ASSERT_NE(mkdtemp(path.data()), nullptr);
        folder_ = path;
        setenv("KSTAT_DIR", path.c_str(), 1);
        ring_ = std::make_unique<Ring>(32);
        ring_->enable();
        std::string spec = kind + ":32M";
        if (kind == "file" || kind == "direct") {
            spec = image_ = path + "/disk.img";
            std::ofstream(spec).flush();
            std::filesystem::resize_file(spec, 32 * zero_mib);
        }
        data_ = static_cast<std::byte*>(std::aligned_alloc(4096, zero_mib));
        device_ =
            std::make_unique<Device>(*ring_, open_backing(spec, {.direct = kind == "direct"}),
                                     kstat::claim_instance("nbd"), DeviceOptions{.queue_depth = 8});
    }

    void TearDown() override {
        device_.reset();
        std::free(data_);
        std::filesystem::remove_all(folder_);
    }

    int perform(Request& request) {
        request.data = data_;
        device_->strategy(request);
        for (turns_ = 0; !request.done; ++turns_) {
            ring_->wait();
            ring_->dispatch();
        }
        return request.error;
    }

    int write(uint64_t offset, uint64_t bytes, char fill = 'w') {
        std::memset(data_, fill, bytes);
        Request request(Buf::Op::write, offset, bytes);
        return perform(request);
    }

    int zero(uint64_t offset, uint64_t bytes, bool no_hole = false, bool fast = false,
             bool fua = false) {
        Request request(Buf::Op::write_zeroes, offset, bytes);
        request.no_hole = no_hole;
        request.fast_zero = fast;
        request.fua = fua;
        const int error = perform(request);
        EXPECT_EQ(request.resid, error == 0 ? 0 : bytes);
        return error;
    }

    /// Whether every byte of the range is `fill`.
    bool reads(uint64_t offset, uint64_t bytes, char fill) {
        std::memset(data_, '?', bytes);
        Request request(Buf::Op::read, offset, bytes);
        EXPECT_EQ(perform(request), 0);
        return std::all_of(data_, data_ + bytes,
                           [&](std::byte b) { return b == static_cast<std::byte>(fill); });
    }

    std::vector<Extent> extents(uint64_t offset, uint64_t bytes) {
        std::vector<Extent> memory(64);
        Request request(Buf::Op::block_status, offset, bytes);
        request.extents = ExtentList(memory);
        EXPECT_EQ(perform(request), 0);
        const auto items = request.extents.items();
        return {items.begin(), items.end()};
    }

    uint64_t allocated_bytes() const {
        struct stat info {};
        EXPECT_EQ(stat(image_.c_str(), &info), 0);
        return static_cast<uint64_t>(info.st_blocks) * 512;
    }

    std::filesystem::path folder_;
    std::string image_;
    std::unique_ptr<Ring> ring_;
    std::unique_ptr<Device> device_;
    std::byte* data_ = nullptr;
    int turns_ = 0;
};

class EachBacking : public Zeroes, public ::testing::WithParamInterface<const char*> {
  protected:
    void SetUp() override { make(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Backings, EachBacking, ::testing::Values("file", "direct", "memory"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(EachBacking, ReadsZeroesWhereTheyWereWrittenAndItsNeighboursStay) {
    for (const bool no_hole : {false, true}) {
        for (const bool fua : {false, true}) {
            ASSERT_EQ(write(0, zero_mib), 0);
            ASSERT_EQ(zero(64 * zero_kib, 128 * zero_kib, no_hole, true, fua), 0);
            EXPECT_TRUE(reads(0, 64 * zero_kib, 'w'));
            EXPECT_TRUE(reads(64 * zero_kib, 128 * zero_kib, 0));
            EXPECT_TRUE(reads(192 * zero_kib, 64 * zero_kib, 'w'));
        }
    }
}

TEST_P(EachBacking, TellsItsHolesFromItsData) {
    EXPECT_EQ(extents(0, 32 * zero_mib), (std::vector<Extent>{{32 * zero_mib, true}}));
    ASSERT_EQ(write(zero_mib, zero_mib), 0);
    ASSERT_EQ(write(4 * zero_mib, zero_mib), 0);
    EXPECT_EQ(extents(0, 32 * zero_mib), (std::vector<Extent>{{zero_mib, true},
                                                              {zero_mib, false},
                                                              {2 * zero_mib, true},
                                                              {zero_mib, false},
                                                              {27 * zero_mib, true}}));
    ASSERT_EQ(zero(4 * zero_mib, zero_mib), 0);
    EXPECT_EQ(extents(2 * zero_mib - 4096, 30 * zero_mib),
              (std::vector<Extent>{{4096, false}, {30 * zero_mib - 4096, true}}));
}

TEST_P(EachBacking, MakesZeroesOfAllOfItself) {
    ASSERT_EQ(write(0, zero_mib), 0);
    ASSERT_EQ(write(31 * zero_mib, zero_mib), 0);
    ASSERT_EQ(zero(0, 32 * zero_mib), 0);
    EXPECT_TRUE(reads(0, zero_mib, 0));
    EXPECT_TRUE(reads(31 * zero_mib, zero_mib, 0));
    EXPECT_EQ(extents(0, 32 * zero_mib), (std::vector<Extent>{{32 * zero_mib, true}}));
}

TEST_P(EachBacking, TakesAHintToCacheAndStaysAsItIs) {
    ASSERT_EQ(write(0, zero_mib), 0);
    Request cache(Buf::Op::cache, 0, 32 * zero_mib);
    EXPECT_EQ(perform(cache), 0);
    EXPECT_TRUE(reads(0, zero_mib, 'w'));
}

TEST_F(Zeroes, NoHoleKeepsAFileProvisionedAndOtherwiseItGivesItsBlocksBack) {
    make("file");
    ASSERT_EQ(zero(0, 8 * zero_mib, true), 0);
    EXPECT_GE(allocated_bytes(), 8 * zero_mib);
    ASSERT_EQ(zero(0, 8 * zero_mib), 0);
    EXPECT_LT(allocated_bytes(), zero_mib);
}

TEST_F(Zeroes, AMemoryOfWhichNothingWasWrittenIsNotMadeResidentByThem) {
    make("memory");
    ASSERT_EQ(write(zero_mib, 4096), 0);
    ASSERT_EQ(zero(zero_mib + 100, 1000), 0);  // a part of a page that is there
    ASSERT_EQ(zero(2 * zero_mib + 100, 1000), 0);
    EXPECT_TRUE(reads(zero_mib + 100, 1000, 0));
    EXPECT_TRUE(reads(zero_mib + 1100, 1000, 'w'));
    EXPECT_EQ(extents(0, 4 * zero_mib),
              (std::vector<Extent>{{zero_mib, true}, {4096, false}, {3 * zero_mib - 4096, true}}));
}

TEST_F(Zeroes, ManyPagesAreZeroedInSharesSoThatOthersComeBetween) {
    make("memory");
    ASSERT_EQ(zero(0, 32 * zero_mib, true), 0);
    EXPECT_GE(turns_, 3);  // beside the share that strategy() does
    EXPECT_EQ(extents(0, 32 * zero_mib), (std::vector<Extent>{{32 * zero_mib, false}}));
    Request trim(Buf::Op::trim, 0, 32 * zero_mib);
    ASSERT_EQ(perform(trim), 0);
    EXPECT_GE(turns_, 3);  // beside the share that strategy() does
    EXPECT_EQ(extents(0, 32 * zero_mib), (std::vector<Extent>{{32 * zero_mib, true}}));
}

TEST_F(Zeroes, NullIsOneHoleThatReadsAsZeroes) {
    make("null");
    ASSERT_EQ(zero(0, 32 * zero_mib, true, true), 0);
    EXPECT_EQ(extents(0, 32 * zero_mib), (std::vector<Extent>{{32 * zero_mib, true}}));
    EXPECT_TRUE(reads(0, zero_mib, 0));
}

// A truncated file reads with an error, not as a hole.
TEST_F(Zeroes, WhatIsMissingOfAFileIsNoHole) {
    make("file");
    std::filesystem::resize_file(image_, 16 * zero_mib);
    std::vector<Extent> memory(4);
    Request read(Buf::Op::read, 20 * zero_mib, zero_mib);
    read.extents = ExtentList(memory);
    EXPECT_EQ(perform(read), EIO);
}

// fallocate(2) has no effect behind a file's end. A write there makes the file longer, and so must zeroes.
class ShortenedFile : public Zeroes, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(NoHole, ShortenedFile, ::testing::Bool());

TEST_P(ShortenedFile, HasTheZeroesThatWereMadeBehindItsEnd) {
    make("file");
    ASSERT_EQ(write(0, zero_mib), 0);
    std::filesystem::resize_file(image_, zero_mib + 4096);
    EXPECT_EQ(zero(zero_mib - 4096, zero_mib, GetParam(), true), EOPNOTSUPP);
    EXPECT_EQ(zero(zero_mib - 4096, zero_mib, GetParam()), 0);
    EXPECT_TRUE(reads(0, zero_mib - 4096, 'w'));
    EXPECT_TRUE(reads(zero_mib - 4096, zero_mib, 0));
    EXPECT_EQ(zero(4 * zero_mib + 100, 5000, GetParam(), false, true), 0);
    EXPECT_TRUE(reads(2 * zero_mib, zero_mib, 0));
    EXPECT_TRUE(reads(4 * zero_mib + 100, 5000, 0));
    std::filesystem::resize_file(image_, 0);
    EXPECT_EQ(zero(zero_mib, 4096, GetParam()), 0);
    EXPECT_TRUE(reads(zero_mib, 4096, 0));
}

// tmpfs punches holes and has no ZERO_RANGE, so provisioned zeroes have to be written.
class OnTmpfs : public Zeroes {
  protected:
    void SetUp() override {
        constexpr auto tmpfs_magic = 0x01021994;
        struct statfs info {};
        if (statfs("/dev/shm", &info) != 0 || info.f_type != tmpfs_magic) {
            GTEST_SKIP() << "SKIPPED: /dev/shm is no tmpfs here";
        }
        make("file", "/dev/shm");
    }
};

TEST_F(OnTmpfs, ZeroesThatWouldHaveToBeWrittenAreDeclinedAtOnceIfTheyMustBeFast) {
    ASSERT_EQ(write(0, zero_mib), 0);
    EXPECT_EQ(zero(0, zero_mib, true, true), EOPNOTSUPP);
    EXPECT_TRUE(reads(0, zero_mib, 'w'));
    EXPECT_EQ(zero(0, zero_mib, false, true), 0);
    EXPECT_TRUE(reads(0, zero_mib, 0));
}

TEST_F(OnTmpfs, ZeroesAreWrittenWhereThereIsNoOtherWay) {
    ASSERT_EQ(write(0, zero_mib), 0);
    ASSERT_EQ(write(9 * zero_mib, zero_mib), 0);
    EXPECT_EQ(zero(100, 10 * zero_mib, true, false, true), 0);
    EXPECT_TRUE(reads(0, 100, 'w'));
    EXPECT_TRUE(reads(100, zero_mib - 100, 0));
    EXPECT_TRUE(reads(9 * zero_mib, zero_mib, 0));
    EXPECT_GE(allocated_bytes(), 10 * zero_mib);
}

}  // namespace
}  // namespace blkscope
