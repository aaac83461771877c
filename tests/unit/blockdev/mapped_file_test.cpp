#include "blockdev/backing/mapped_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../driver/delegating_kernel.hpp"

namespace blkscope {
namespace {

constexpr uint64_t size_bytes = 1 << 20;

/// A file without a name, entirely in the page cache.
class MappedFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        char path[] = "/tmp/blkscope_mapped.XXXXXX";
        fd_ = mkstemp(path);
        ASSERT_GE(fd_, 0);
        unlink(path);
        const std::string dots(size_bytes, '.');
        ASSERT_EQ(pwrite(fd_, dots.data(), dots.size(), 0), static_cast<ssize_t>(size_bytes));
        file_.map(linux_kernel(), fd_, size_bytes);
    }
    void TearDown() override { close(fd_); }

    bool write(uint64_t offset, const std::string& text) {
        return file_.try_write(offset, std::as_bytes(std::span(text)));
    }
    [[nodiscard]] std::string read(uint64_t offset, size_t length) const {
        std::string text(length, '?');
        const ssize_t got = pread(fd_, text.data(), length, static_cast<off_t>(offset));
        text.resize(got < 0 ? 0 : static_cast<size_t>(got));
        return text;
    }

    int fd_ = -1;
    MappedFile file_;
};

TEST_F(MappedFileTest, WhatIsWrittenIsInTheFile) {
    EXPECT_TRUE(write(4090, "across a page\'s end"));
    EXPECT_EQ(read(4089, 21), ".across a page\'s end.");
    EXPECT_TRUE(write(size_bytes - 3, "end"));
    EXPECT_EQ(read(size_bytes - 4, 10), ".end");
}

TEST_F(MappedFileTest, WhatIsNotInThePageCacheIsLeftToOthers) {
    ASSERT_EQ(ftruncate(fd_, 0), 0);
    ASSERT_EQ(ftruncate(fd_, size_bytes), 0);  // all holes, never read
    EXPECT_FALSE(write(0, "x"));
    EXPECT_EQ(read(0, 1), std::string(1, '\0'));
}

TEST_F(MappedFileTest, MoreThanItTakesIsLeftToOthers) {
    EXPECT_TRUE(write(1, std::string(131072, 'x')));  // thirty-three pages of 4 KiB
    EXPECT_FALSE(write(0, std::string(131073, 'x')));
    EXPECT_EQ(read(0, 2), ".x");
}

TEST_F(MappedFileTest, WithoutAMappingItIsNotUsable) {
    MappedFile unmapped;
    EXPECT_FALSE(unmapped.usable());
    EXPECT_FALSE(unmapped.is_cached(0, 1));
    EXPECT_TRUE(file_.usable());
    EXPECT_TRUE(file_.is_cached(0, size_bytes));
}

// Ranges are unmapped and mapped again meanwhile.
TEST_F(MappedFileTest, WritesBetweenSyncsAreAllThere) {
    std::string expected = read(0, size_bytes);
    std::mt19937 random(1);
    for (int i = 0; i < 2000; ++i) {
        const uint64_t at = random() % (size_bytes - 4096);
        const std::string text(1 + random() % 4096, static_cast<char>('a' + i % 26));
        ASSERT_TRUE(write(at, text));
        expected.replace(at, text.size(), text);
        if (i % 30 == 0) file_.unmap(at);
        if (i % 100 == 0) {
            ASSERT_EQ(fdatasync(fd_), 0);
        }
    }
    EXPECT_TRUE(read(0, size_bytes) == expected);
}

TEST_F(MappedFileTest, LargeWritesBetweenSyncsAreAllThere) {
    std::string expected = read(0, size_bytes);
    std::mt19937 random(2);
    for (int i = 0; i < 300; ++i) {
        const uint64_t at = random() % (size_bytes - 131072);
        const std::string text(65537 + random() % 65536, static_cast<char>('a' + i % 26));
        ASSERT_TRUE(write(at, text));
        expected.replace(at, text.size(), text);
        if (i % 30 == 0) file_.unmap(at);
        if (i % 20 == 0) {
            ASSERT_EQ(fdatasync(fd_), 0);
        }
    }
    EXPECT_TRUE(read(0, size_bytes) == expected);
}

TEST_F(MappedFileTest, AFileThatShrankDoesNotEndTheProcess) {
    ASSERT_EQ(ftruncate(fd_, 4096), 0);
    EXPECT_FALSE(write(8192, "x"));
    EXPECT_TRUE(write(0, "x"));
}

// The last page of the file is still there, so a copy behind its end would succeed and be lost.
TEST_F(MappedFileTest, AFileThatWasFoundShorterIsNotWrittenToAnyMore) {
    file_.check_size();
    EXPECT_TRUE(write(1500, "x"));
    ASSERT_EQ(ftruncate(fd_, 1000), 0);
    file_.check_size();
    EXPECT_FALSE(file_.usable());
    EXPECT_FALSE(write(1500, "x"));
    EXPECT_FALSE(write(0, "x"));
}

uint64_t page_table_kib() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        if (word == "VmPTE:" && status >> word) return std::stoull(word);
    }
    return 0;
}

// A sparse file of 200 GiB with a cached page in each hundred MiB.
class SparseMappedFile : public ::testing::Test {
  protected:
    static constexpr uint64_t sparse_bytes = uint64_t{200} << 30;
    static constexpr uint64_t apart = uint64_t{100} << 20;
    static constexpr uint64_t writes = sparse_bytes / apart;

    void SetUp() override {
        char path[] = "/var/tmp/blkscope_sparse.XXXXXX";
        fd_ = mkstemp(path);
        ASSERT_GE(fd_, 0);
        unlink(path);
        if (ftruncate(fd_, static_cast<off_t>(sparse_bytes)) != 0) {
            GTEST_SKIP() << "SKIPPED: no sparse file of 200 GiB here: " << std::strerror(errno);
        }
        for (uint64_t i = 0; i < writes; ++i) {
            ASSERT_EQ(pwrite(fd_, "-", 1, static_cast<off_t>(i * apart)), 1);
        }
    }
    void TearDown() override { close(fd_); }

    /// KiB of page tables after one write to each of those pages.
    uint64_t grown_by(size_t ranges) {
        MappedFile file;
        file.map(linux_kernel(), fd_, sparse_bytes, ranges);
        const uint64_t before = page_table_kib();
        const std::byte mark{'+'};
        for (uint64_t i = 0; i < writes; ++i) {
            EXPECT_TRUE(file.try_write(i * apart, {&mark, 1}));
            EXPECT_LE(file.mapped_ranges(), ranges);
        }
        const uint64_t after = page_table_kib();
        return after - std::min(before, after);
    }

    int fd_ = -1;
};

TEST_F(SparseMappedFile, KeepsNoMoreRangesMappedThanItMay) {
    if (BLKSCOPE_SANITIZED)
        GTEST_SKIP() << "SKIPPED: the sanitizer's own memory has page tables, too";
    const uint64_t all = grown_by(writes);
    const uint64_t few = grown_by(100);
    for (uint64_t i = 0; i < writes; ++i) {
        char is = '?';
        ASSERT_EQ(pread(fd_, &is, 1, static_cast<off_t>(i * apart)), 1);
        ASSERT_EQ(is, '+');
    }
    ASSERT_GE(all, writes * 4);  // one page of page tables each
    if (few >= all) GTEST_SKIP() << "SKIPPED: this kernel keeps empty page tables (PT_RECLAIM)";
    // 400 KiB, and the levels above them.
    EXPECT_LE(few, 100 * 4 + 1024);
}

// A page cache that has everything, and a range that is unmapped at once: what is left is the marks.
class QuickKernel final : public testing::DelegatingKernel {
  public:
    bool is_cached(const std::byte*, uint64_t) override { return true; }
    bool copy(std::byte*, std::span<const std::byte>) override { return true; }
    void forget(std::byte*, uint64_t) override {}
};

// Two workers share the slots: one of them may use a range that the other one takes out.
TEST_F(MappedFileTest, TwoWorkersUseMoreRangesThanMayStayMapped) {
    constexpr uint64_t ranges = 3;
    constexpr uint64_t bytes = ranges * MappedFile::range_bytes;
    ASSERT_EQ(ftruncate(fd_, bytes), 0);
    QuickKernel kernel;
    MappedFile file;
    file.map(kernel, fd_, bytes, 2);
    const auto work = [&](unsigned seed) {
        std::mt19937 random(seed);
        const std::byte mark{'+'};
        for (int i = 0; i < (BLKSCOPE_SANITIZED ? 1'000'000 : 4'000'000); ++i)
            file.try_write(random() % bytes, {&mark, 1});
    };
    std::thread other(work, 1);
    work(2);
    other.join();
    EXPECT_EQ(file.mapped_ranges(), 2U);
}

TEST_F(MappedFileTest, ItGoesOnThroughAsManyMappingsAsItTakes) {
    for (int i = 0; i < 40'000; ++i) {
        ASSERT_TRUE(write(static_cast<uint64_t>(i) * 8, std::to_string(100'000 + i)));
    }
    EXPECT_EQ(read(39'999 * 8, 6), "139999");
}

TEST_F(MappedFileTest, WithoutAMappingNothingIsWritten) {
    MappedFile unmapped;
    EXPECT_FALSE(unmapped.try_write(0, {}));
    unmapped.map(linux_kernel(), -1, size_bytes);
    EXPECT_FALSE(unmapped.try_write(0, {}));
}

using MappedFileDeathTest = MappedFileTest;

// Only faults of copy() are caught. A fault in other code must still end the process.
TEST_F(MappedFileDeathTest, ABusErrorElsewhereStillEndsTheProcess) {
    EXPECT_DEATH(
        {
            void* const memory = mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, fd_, 0);
            if (ftruncate(fd_, 0) == 0) *static_cast<volatile char*>(memory) = 1;
        },
        "");
}

}  // namespace
}  // namespace blkscope
