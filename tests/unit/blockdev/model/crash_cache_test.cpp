// The volatile write cache, held against a model that keeps every version of every sector.
#include "blockdev/model/crash_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../../failure.hpp"

namespace blkscope::model {
namespace {

constexpr uint64_t sector = CrashCacheOptions::sector_bytes;
constexpr uint64_t page = CrashCacheOptions::page_bytes;

struct MemoryMedium : Medium {
    explicit MemoryMedium(uint64_t size_bytes) : data(size_bytes) {}

    void write(uint64_t offset, std::span<const std::byte> from) override {
        ASSERT_LE(offset + from.size(), data.size());
        std::copy(from.begin(), from.end(), data.begin() + static_cast<int64_t>(offset));
        ++writes;
    }

    std::vector<std::byte> data;
    uint64_t writes = 0;
};

std::vector<std::byte> bytes_of(uint64_t size, uint8_t value) {
    return std::vector<std::byte>(size, std::byte{value});
}

struct Disk {
    explicit Disk(CrashCacheOptions options, uint64_t size_bytes = 16 * page)
        : medium(size_bytes), cache(options) {}

    void write(uint64_t offset, uint64_t size, uint8_t value, bool fua = false) {
        cache.write(offset, bytes_of(size, value), fua, medium);
    }
    std::vector<std::byte> read() {
        std::vector<std::byte> data = medium.data;
        cache.overlay(0, data);
        return data;
    }
    uint8_t at(uint64_t offset) { return std::to_integer<uint8_t>(read()[offset]); }
    [[nodiscard]] uint8_t durable(uint64_t offset) const {
        return std::to_integer<uint8_t>(medium.data[offset]);
    }

    MemoryMedium medium;
    CrashCache cache;
};

TEST(CrashCache, AWriteIsReadAndNotDurable) {
    Disk disk({.size_bytes = 1 << 20});
    disk.write(100, 5000, 7);
    EXPECT_EQ(disk.at(100), 7);
    EXPECT_EQ(disk.at(5099), 7);
    EXPECT_EQ(disk.at(5100), 0);
    EXPECT_EQ(disk.durable(100), 0);
    EXPECT_EQ(disk.cache.used_bytes(), 5000U);
}

TEST(CrashCache, TellsWhereTheNextCachedBlockBegins) {
    Disk disk({.size_bytes = 1 << 20});
    EXPECT_EQ(disk.cache.bytes_to_cached(0, 16 * page), 16 * page);
    disk.write(2 * page + 100, page, 7);  // of two blocks
    EXPECT_EQ(disk.cache.bytes_to_cached(0, 16 * page), 2 * page);
    EXPECT_EQ(disk.cache.bytes_to_cached(512, page), page);
    EXPECT_EQ(disk.cache.bytes_to_cached(2 * page, 1), 0U);
    EXPECT_EQ(disk.cache.bytes_to_cached(4 * page - 1, page), 0U);
    EXPECT_EQ(disk.cache.bytes_to_cached(4 * page, page), page);
}

TEST(CrashCache, ATextIsParsedAndWrittenAgain) {
    for (const char* text :
         {"4K", "64M", "1G,sector=512", "5000,ignore-flush", "1M,sector=512,ignore-flush"}) {
        EXPECT_EQ(CrashCacheOptions::parse(text).text(), text);
    }
    const auto both = CrashCacheOptions::parse("1M,ignore-flush,sector=512");
    EXPECT_EQ(both.size_bytes, 1U << 20);
    EXPECT_EQ(both.block_bytes, 512U);
    EXPECT_TRUE(both.ignores_flush);
    EXPECT_EQ(CrashCacheOptions::parse("1M").block_bytes, 4096U);
}

TEST(CrashCache, AWrongTextIsRefusedWithItsFault) {
    const auto fault = [](const char* text) {
        return failure_of([&] { return CrashCacheOptions::parse(text); });
    };
    EXPECT_EQ(fault("4095"), "crash-cache '4095': SIZE is less than 4K");
    EXPECT_EQ(fault("1M,sector=4096"),
              "crash-cache '1M,sector=4096': 'sector=4096' is neither sector=512 nor ignore-flush");
    EXPECT_EQ(fault("1M,ignore-flush,ignore-flush"),
              "crash-cache '1M,ignore-flush,ignore-flush': ignore-flush is given twice");
    for (const char* text : {"", ",", "0", "-1M", "1M,", "sector=512", "1M,,sector=512", "1X"}) {
        EXPECT_EQ(fault(text).rfind("crash-cache '", 0), 0U) << text;
    }
}

TEST(CrashCache, WhatSurvivedIsALine) {
    Disk disk({.size_bytes = 1 << 20, .seed = 3});
    for (uint64_t block = 0; block < 16; ++block) disk.write(block * page, page, 9);
    const auto survival = disk.cache.crash(disk.medium);
    EXPECT_EQ(survival.durable + survival.latest + survival.between + survival.torn, 16U);
    EXPECT_EQ(survival.text().rfind("16 blocks in the cache: ", 0), 0U) << survival.text();
}

TEST(CrashCache, AFlushMakesAllWritesDurableInTheirOrder) {
    Disk disk({.size_bytes = 1 << 20});
    disk.write(0, page, 1);
    disk.write(512, 512, 2);
    disk.cache.flush(disk.medium);
    EXPECT_EQ(disk.durable(0), 1);
    EXPECT_EQ(disk.durable(512), 2);
    EXPECT_EQ(disk.durable(1024), 1);
    EXPECT_TRUE(disk.cache.empty());
    EXPECT_EQ(disk.cache.used_bytes(), 0U);
}

TEST(CrashCache, AForcedWriteMakesItsOwnRangeDurableAndNoOther) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
        Disk disk({.size_bytes = 1 << 20, .seed = seed});
        disk.write(0, page, 1);
        disk.write(512, 512, 2, true);
        EXPECT_EQ(disk.durable(512), 2);
        EXPECT_EQ(disk.durable(0), 0);
        EXPECT_EQ(disk.at(0), 1);
        EXPECT_EQ(disk.at(512), 2);
        disk.cache.crash(disk.medium);
        EXPECT_EQ(disk.durable(512), 2);  // the earlier write can not come back over it
    }
}

TEST(CrashCache, AFullCacheWritesBlocksBack) {
    Disk disk({.size_bytes = 4 * page, .seed = 5});
    for (uint64_t block = 0; block < 16; ++block) disk.write(block * page, page, 9);
    EXPECT_EQ(disk.cache.used_bytes(), 4 * page);
    EXPECT_EQ(std::count(disk.medium.data.begin(), disk.medium.data.end(), std::byte{9}),
              static_cast<long>(12 * page));
    EXPECT_EQ(disk.read(), bytes_of(16 * page, 9));
}

TEST(CrashCache, SmallWritesTakeNoMoreMemoryThanTheirNumberAllows) {
    Disk disk({.size_bytes = 4 * page, .seed = 5});
    for (uint64_t i = 0; i < 1000; ++i) disk.write(i * 64 % (16 * page) + i % 64, 1, 9);
    EXPECT_GT(disk.medium.writes, 700U);
    EXPECT_LE(disk.cache.used_bytes(), 4 * page / 64);
}

TEST(CrashCache, ABlockThatIsWrittenAgainAndAgainKeepsItsLastVersions) {
    Disk disk({.size_bytes = 4 << 20});
    for (uint64_t i = 0; i < 1000; ++i) disk.write(0, page, static_cast<uint8_t>(i % 250));
    EXPECT_EQ(disk.cache.used_bytes(), 256 * page);
    EXPECT_EQ(disk.durable(0), (1000 - 256 - 1) % 250);
    EXPECT_EQ(disk.at(0), 999 % 250);
}

TEST(CrashCache, ADiskThatLiesIgnoresFlushAndForce) {
    Disk disk({.size_bytes = 1 << 20, .ignores_flush = true});
    disk.write(0, page, 1);
    disk.write(page, page, 2, true);
    disk.cache.flush(disk.medium);
    EXPECT_EQ(disk.medium.writes, 0U);
    EXPECT_EQ(disk.at(page), 2);
    disk.cache.write_back(disk.medium);  // an orderly stop loses nothing
    EXPECT_EQ(disk.durable(0), 1);
    EXPECT_EQ(disk.durable(page), 2);
}

// After a crash a block is any of its versions. Each of them comes up with some seed.
TEST(CrashCache, ABlockSurvivesInAnyVersion) {
    std::set<uint8_t> whole;
    uint64_t torn = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
        Disk disk({.size_bytes = 1 << 20, .seed = seed}, page);
        for (uint8_t value = 1; value <= 3; ++value) disk.write(0, page, value);
        const auto survival = disk.cache.crash(disk.medium);
        EXPECT_EQ(survival.blocks, 1U);
        EXPECT_TRUE(disk.cache.empty());
        const bool one = disk.medium.data == bytes_of(page, disk.durable(0));
        EXPECT_EQ(one, survival.torn == 0);
        if (one) whole.insert(disk.durable(0));
        torn += survival.torn;
        if (one) continue;
        // The first sectors are newer than the rest, and each sector is whole.
        EXPECT_GT(disk.durable(0), disk.durable(page - 1));
        for (uint64_t at = 0; at < page; at += sector) {
            EXPECT_EQ(disk.durable(at), disk.durable(at + sector - 1));
        }
    }
    EXPECT_EQ(whole, (std::set<uint8_t>{0, 1, 2, 3}));
    EXPECT_NEAR(static_cast<double>(torn), 100, 4 * 8.7);  // a quarter
}

// A write of one sector is there or not, wherever the tear is.
TEST(CrashCache, ABlockWithOneSectorInTheCacheIsNotTorn) {
    for (const uint64_t offset : {uint64_t{0}, sector, page - sector}) {
        uint64_t latest = 0;
        for (uint64_t seed = 0; seed < 100; ++seed) {
            Disk disk({.size_bytes = 1 << 20, .seed = seed}, page);
            disk.write(offset, sector, 1);
            const auto survival = disk.cache.crash(disk.medium);
            EXPECT_EQ(survival.torn, 0U);
            EXPECT_EQ(survival.latest, disk.durable(offset));
            latest += survival.latest;
        }
        EXPECT_GT(latest, 20U);
        EXPECT_LT(latest, 80U);
    }
}

TEST(CrashCache, WithSectorsNoBlockIsTorn) {
    std::set<std::array<uint8_t, 2>> seen;
    for (uint64_t seed = 0; seed < 100; ++seed) {
        Disk disk({.size_bytes = 1 << 20, .block_bytes = 512, .seed = seed}, page);
        disk.write(0, 1024, 1);
        const auto survival = disk.cache.crash(disk.medium);
        EXPECT_EQ(survival.blocks, 2U);
        EXPECT_EQ(survival.torn, 0U);
        EXPECT_EQ(survival.durable + survival.latest, 2U);
        seen.insert({disk.durable(0), disk.durable(512)});
    }
    EXPECT_EQ(seen.size(), 4U);  // sectors survive independently
}

TEST(CrashCache, TheSameSeedLosesTheSame) {
    const auto survivor = [](uint64_t seed) {
        Disk disk({.size_bytes = 1 << 20, .seed = seed});
        for (uint64_t block = 0; block < 16; ++block) {
            for (uint8_t value = 1; value <= 3; ++value) disk.write(block * page, page, value);
        }
        disk.cache.crash(disk.medium);
        return disk.medium.data;
    };
    EXPECT_EQ(survivor(1), survivor(1));
    EXPECT_NE(survivor(1), survivor(2));
}

// For each sector, the values that it had since the last moment at which it became durable. A crash
// may leave any of them, and no other.
class Oracle {
  public:
    explicit Oracle(uint64_t sectors) : versions_(sectors, {0}) {}

    void write(uint64_t first, uint64_t count, uint8_t value, bool durable) {
        for (uint64_t at = first; at < first + count; ++at) {
            if (durable) versions_[at].clear();
            versions_[at].push_back(value);
        }
    }
    void flush() {
        for (auto& versions : versions_) versions = {versions.back()};
    }
    void crashed(const std::vector<std::byte>& medium) {
        for (uint64_t at = 0; at < versions_.size(); ++at) {
            const auto value = std::to_integer<uint8_t>(medium[at * sector]);
            auto& versions = versions_[at];
            ASSERT_NE(std::find(versions.begin(), versions.end(), value), versions.end());
            versions = {value};
        }
    }
    void compare(const std::vector<std::byte>& read) const {
        for (uint64_t at = 0; at < versions_.size(); ++at) {
            ASSERT_EQ(std::to_integer<uint8_t>(read[at * sector]), versions_[at].back());
            ASSERT_EQ(std::to_integer<uint8_t>(read[(at + 1) * sector - 1]), versions_[at].back());
        }
    }

  private:
    std::vector<std::vector<uint8_t>> versions_;
};

void live(uint64_t seed, CrashCacheOptions options) {
    constexpr uint64_t sectors = 64;
    std::mt19937_64 random(seed);
    options.seed = seed;
    Disk disk(options, sectors * sector);
    Oracle oracle(sectors);
    for (int step = 0; step < 300; ++step) {
        const uint64_t first = random() % sectors;
        const uint64_t count = 1 + random() % std::min<uint64_t>(sectors - first, 20);
        const auto value = static_cast<uint8_t>(random());
        const uint64_t what = random() % 20;
        if (what < 17) {
            disk.write(first * sector, count * sector, value, what < 3);
            oracle.write(first, count, value, what < 3);
        } else if (what < 19) {
            disk.cache.flush(disk.medium);
            oracle.flush();
        } else {
            disk.cache.crash(disk.medium);
            oracle.crashed(disk.medium.data);
        }
        oracle.compare(disk.read());
        ASSERT_LE(disk.cache.used_bytes(), options.size_bytes);
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(CrashCache, ACrashLosesNothingThatWasDurableAndInventsNothing) {
    for (uint64_t seed = 0; seed < (BLKSCOPE_SANITIZED ? 60 : 300); ++seed) {
        live(seed, {.size_bytes = 1 << 20});
        live(seed, {.size_bytes = 4 * page});  // blocks are written back before
        live(seed, {.size_bytes = 1 << 20, .block_bytes = 512});
        ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    }
}

// The negative control: the oracle finds the disk that lies.
TEST(CrashCache, ADiskThatLiesLosesWhatAFlushPromised) {
    uint64_t lost = 0;
    for (uint64_t seed = 0; seed < 50; ++seed) {
        Disk disk({.size_bytes = 1 << 20, .ignores_flush = true, .seed = seed});
        disk.write(0, page, 1);
        disk.cache.flush(disk.medium);
        disk.cache.crash(disk.medium);
        lost += disk.durable(page - 1) != 1 ? 1U : 0U;
    }
    EXPECT_GT(lost, 10U);
}

}  // namespace
}  // namespace blkscope::model
