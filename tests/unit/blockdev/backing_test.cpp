#include "blockdev/backing/backing.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"
#include "blockdev/device/device.hpp"
#include "kstat/provider/instance.hpp"

namespace blkscope {
namespace {

constexpr uint64_t mib = uint64_t{1} << 20;

TEST(ParseSize, TakesNumbersWithAndWithoutAUnit) {
    EXPECT_EQ(parse_size("512"), 512u);
    EXPECT_EQ(parse_size("4k"), 4096u);
    EXPECT_EQ(parse_size("64M"), 64 * mib);
    EXPECT_EQ(parse_size("1G"), 1024 * mib);
    EXPECT_EQ(parse_size("2T"), 2 * 1024 * 1024 * mib);
}

TEST(ParseSize, RefusesEverythingElse) {
    for (const char* text :
         {"", "0", "-1", "M", "1X", "1MM", "1M ", " 1", "1.5G", "0x10", "99999999999999999999",
          "9223372036854775807T", "18446744073709551615"}) {
        EXPECT_THROW(parse_size(text), std::invalid_argument) << text;
    }
}

// The same tests for each kind of backing.
class BackingTest : public ::testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        ring_ = std::make_unique<Ring>(32);
        ring_->enable();
        std::string spec = GetParam();
        const BackingOptions options{.direct = spec == "direct"};
        if (spec == "file" || spec == "direct") {
            spec = folder_ / "disk.img";
            std::ofstream(spec).flush();
            std::filesystem::resize_file(spec, 4 * mib);
        }
        data_ = static_cast<std::byte*>(std::aligned_alloc(4096, mib));
        device_ =
            std::make_unique<Device>(*ring_, open_backing(spec, options),
                                     kstat::claim_instance("nbd"), DeviceOptions{.queue_depth = 8});
    }

    void TearDown() override {
        device_.reset();
        std::free(data_);
    }

    struct Done : Buf {
        bool done = false;
    };

    /// Runs one request to its end and returns its errno.
    int perform(Buf::Op op, uint64_t offset, uint32_t bytes, bool fua = false) {
        Done buf;
        buf.op = op;
        buf.offset = offset;
        buf.bcount = bytes;
        buf.fua = fua;
        buf.data = data_;
        buf.iodone = [](Buf& b) { static_cast<Done&>(b).done = true; };
        device_->strategy(buf);
        ring_->dispatch();
        while (!buf.done) {
            ring_->wait();
            ring_->dispatch();
        }
        return buf.error;
    }

    bool all(uint32_t bytes, char value) const {
        for (uint32_t i = 0; i < bytes; ++i) {
            if (data_[i] != static_cast<std::byte>(value)) return false;
        }
        return true;
    }

    const test::RunFolder folder_{"/var/tmp"};
    std::unique_ptr<Ring> ring_;
    std::unique_ptr<Device> device_;
    std::byte* data_ = nullptr;
};

TEST_P(BackingTest, StartsAsZeroes) {
    ASSERT_EQ(perform(Buf::Op::read, 0, 65536), 0);
    EXPECT_TRUE(all(65536, 0));
}

// The backings that keep their data: all except null.
class KeepingBackingTest : public BackingTest {};

TEST_P(KeepingBackingTest, GivesBackWhatWasWritten) {
    for (const uint32_t bytes : {4096u, 65536u, 131072u, 1048576u}) {
        std::memset(data_, 'w', bytes);
        ASSERT_EQ(perform(Buf::Op::write, 8192, bytes), 0);
        std::memset(data_, 0, bytes);
        ASSERT_EQ(perform(Buf::Op::read, 8192, bytes), 0);
        EXPECT_TRUE(all(bytes, 'w'));
    }
}

TEST_P(BackingTest, FlushesAndWritesThrough) {
    EXPECT_EQ(perform(Buf::Op::write, 0, 4096, true), 0);
    EXPECT_EQ(perform(Buf::Op::flush, 0, 0), 0);
    EXPECT_EQ(perform(Buf::Op::trim, 0, 4096, true), 0);
}

TEST_P(KeepingBackingTest, ATrimmedRangeReadsAsZeroesAndItsNeighboursStay) {
    std::memset(data_, 't', 65536);
    ASSERT_EQ(perform(Buf::Op::write, 0, 65536), 0);
    ASSERT_EQ(perform(Buf::Op::trim, 4096, 8192), 0);
    ASSERT_EQ(perform(Buf::Op::read, 4096, 8192), 0);
    EXPECT_TRUE(all(8192, 0));
    ASSERT_EQ(perform(Buf::Op::read, 0, 4096), 0);
    EXPECT_TRUE(all(4096, 't'));
    ASSERT_EQ(perform(Buf::Op::read, 12288, 4096), 0);
    EXPECT_TRUE(all(4096, 't'));
}

std::string kind(const ::testing::TestParamInfo<std::string>& param) {
    return param.param.substr(0, param.param.find(':'));
}

INSTANTIATE_TEST_SUITE_P(Backings, BackingTest,
                         ::testing::Values("file", "direct", "memory:4M", "null:4M"), kind);
INSTANTIATE_TEST_SUITE_P(Backings, KeepingBackingTest,
                         ::testing::Values("file", "direct", "memory:4M"), kind);

class OpenBacking : public ::testing::Test {
  protected:
    std::string file(uint64_t bytes) {
        const std::string path = folder_ / "f";
        std::ofstream(path).flush();
        std::filesystem::resize_file(path, bytes);
        return path;
    }

    const test::TemporaryFolder folder_;
};

TEST_F(OpenBacking, RefusesWhatIsNoDisk) {
    EXPECT_THROW(open_backing(folder_ / "absent", {}), std::system_error);
    EXPECT_THROW(open_backing(folder_, {.read_only = true}), std::invalid_argument);
    EXPECT_THROW(open_backing("/dev/null", {}), std::invalid_argument);
    EXPECT_THROW(open_backing(file(0), {}), std::invalid_argument);
    EXPECT_THROW(open_backing("memory:", {}), std::invalid_argument);
}

TEST(BackingSchemes, AreTheCallersTable) {
    const std::array<BackingScheme, 1> table{
        {{"zeroes", [](const std::string& spec, const BackingOptions& options) {
              return open_backing("null:" + spec.substr(spec.find(':') + 1), options);
          }}}};
    EXPECT_EQ(open_backing("zeroes:4K", {}, table)->size_bytes(), 4096u);
    EXPECT_EQ(backing_kind("zeroes:4K", table), "zeroes");
    EXPECT_EQ(backing_kind("memory:4K", table), "");
}

TEST(BackingKind, IsTheWordBeforeASize) {
    EXPECT_EQ(backing_kind("memory:1G"), "memory");
    EXPECT_EQ(backing_kind("null:"), "null");
    EXPECT_EQ(backing_kind("memory"), "");
    EXPECT_EQ(backing_kind("/srv/memory:1G"), "");
    EXPECT_EQ(backing_kind("disk:0.img"), "");
    EXPECT_EQ(backing_kind(""), "");
}

TEST_F(OpenBacking, DirectIoWantsASizeInWholeBlocks) {
    EXPECT_EQ(open_backing(file(1000), {})->size_bytes(), 1000u);
    const std::string odd = "/var/tmp/blkscope_odd_" + std::to_string(getpid());
    std::ofstream(odd).flush();
    std::filesystem::resize_file(odd, 1000);
    EXPECT_THROW(open_backing(odd, {.direct = true}), std::invalid_argument);
    std::filesystem::remove(odd);
}

}  // namespace
}  // namespace blkscope
