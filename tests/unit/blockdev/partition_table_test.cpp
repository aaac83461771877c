#include "blockdev/device/partition_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "disk_image.hpp"
#include "unit/rounds/rounds.hpp"

namespace blkscope {
namespace {

constexpr uint64_t disk_mib = uint64_t{1} << 20;
constexpr uint64_t mib_sectors = disk_mib / 512;

PartitionTable table_of(const DiskImage& image, uint32_t block_bytes = 1) {
    return read_partition_table(
        image.bytes().size(), block_bytes,
        [&](uint64_t offset, std::span<std::byte> to) { return image.read(offset, to); });
}

std::string problem_of(const DiskImage& image) {
    const PartitionTable table = table_of(image);
    EXPECT_FALSE(table);
    return table ? "" : table.error();
}

const std::vector<Partition> two_mib_and_four{{1, disk_mib, 2 * disk_mib},
                                              {2, 3 * disk_mib, 4 * disk_mib}};

TEST(PartitionTable, AnEmptyDiskHasNoneAndNoProblem) {
    EXPECT_TRUE(table_of(DiskImage(disk_mib))->empty());
    EXPECT_TRUE(table_of(DiskImage(disk_mib)));
    EXPECT_TRUE(table_of(DiskImage(100)));
}

TEST(PartitionTable, AGptHasItsPartitions) {
    DiskImage image(8 * disk_mib);
    image.gpt({{mib_sectors, 2 * mib_sectors}, {3 * mib_sectors, 4 * mib_sectors}});
    EXPECT_TRUE(table_of(image));
    EXPECT_EQ(*table_of(image), two_mib_and_four);
}

TEST(PartitionTable, AGptIsFoundAtEitherSectorSize) {
    DiskImage image(8 * disk_mib, 4096);
    image.gpt({{256, 512}, {768, 1024}});
    EXPECT_EQ(*table_of(image), two_mib_and_four);
    EXPECT_EQ(*table_of(image, 4096), two_mib_and_four);
    DiskImage small(8 * disk_mib);
    small.gpt({{mib_sectors, 2 * mib_sectors}, {3 * mib_sectors, 4 * mib_sectors}});
    EXPECT_EQ(*table_of(small, 4096), two_mib_and_four);
}

TEST(PartitionTable, GptEntriesMayBeLargerThanUsual) {
    DiskImage image(8 * disk_mib);
    image.gpt({{mib_sectors, 2 * mib_sectors}, {3 * mib_sectors, 4 * mib_sectors}}, 16, 512);
    EXPECT_EQ(*table_of(image), two_mib_and_four);
}

TEST(PartitionTable, AGptWithoutEntriesHasNoPartitions) {
    DiskImage image(8 * disk_mib);
    image.gpt({}, 0);
    EXPECT_TRUE(table_of(image)->empty());
    EXPECT_TRUE(table_of(image));
}

TEST(PartitionTable, AnMbrHasItsPrimaryPartitions) {
    DiskImage image(8 * disk_mib);
    image.boot_entry(0, 1, 0x83, {3 * mib_sectors, 4 * mib_sectors});
    image.boot_entry(0, 0, 0x83, {mib_sectors, 2 * mib_sectors});
    EXPECT_EQ(*table_of(image), two_mib_and_four);
}

TEST(PartitionTable, AnMbrCountsInLargeSectorsWhereRequestsDo) {
    DiskImage image(8 * disk_mib, 4096);
    image.boot_entry(0, 0, 0x83, {256, 512});
    image.boot_entry(0, 1, 0x83, {768, 1024});
    EXPECT_EQ(*table_of(image, 4096), two_mib_and_four);
}

TEST(PartitionTable, LogicalPartitionsCountFromFive) {
    DiskImage image(16 * disk_mib);
    image.boot_entry(0, 0, 0x83, {mib_sectors, mib_sectors});
    image.boot_entry(0, 1, 0x05, {4 * mib_sectors, 12 * mib_sectors});
    image.boot_entry(4 * mib_sectors, 0, 0x83, {64, mib_sectors});
    image.boot_entry(4 * mib_sectors, 1, 0x05, {4 * mib_sectors, 4 * mib_sectors});
    image.boot_entry(8 * mib_sectors, 0, 0x83, {64, 2 * mib_sectors});
    EXPECT_TRUE(table_of(image));
    EXPECT_EQ(*table_of(image),
              (std::vector<Partition>{{1, disk_mib, disk_mib},
                                      {5, 4 * disk_mib + 64 * 512, disk_mib},
                                      {6, 8 * disk_mib + 64 * 512, 2 * disk_mib}}));
}

TEST(PartitionTable, TheBootSectorOfAFileSystemIsNoTable) {
    DiskImage image(disk_mib);
    image.boot_entry(0, 0, 0x83, {1, 100});
    image.store<uint8_t>(446, 0x33);  // code, where an entry says whether it is active
    EXPECT_TRUE(table_of(image)->empty());
    EXPECT_TRUE(table_of(image));
}

TEST(PartitionTable, ADamagedGptIsIgnoredAndTheProblemNamed) {
    DiskImage good(8 * disk_mib);
    good.gpt({{mib_sectors, 2 * mib_sectors}});
    const auto damage = [&](auto change) {
        DiskImage image = good;
        change(image);
        return problem_of(image);
    };
    EXPECT_EQ(damage([](DiskImage& d) { d.header<uint64_t>(40, 35); }),
              "the CRC of the GPT header is wrong");
    EXPECT_EQ(damage([](DiskImage& d) { d.store<uint64_t>(1024 + 40, 9999); }),
              "the CRC of the GPT entries is wrong");
    EXPECT_EQ(damage([](DiskImage& d) { d.header<uint8_t>(0, 'X'); }),
              "a protective MBR, but no GPT");
    const auto resign = [&](auto change) {
        return damage([&](DiskImage& image) {
            change(image);
            image.sign_gpt();
        });
    };
    EXPECT_EQ(resign([](DiskImage& d) { d.header<uint32_t>(12, 513); }),
              "the GPT header says that it has 513 bytes");
    EXPECT_EQ(resign([](DiskImage& d) { d.header<uint64_t>(24, 2); }),
              "the GPT header is not in its place");
    EXPECT_EQ(resign([](DiskImage& d) { d.header<uint32_t>(84, 100); }),
              "GPT entries of 100 bytes");
    EXPECT_EQ(resign([](DiskImage& d) { d.header<uint32_t>(80, 0xffffffff); }),
              "a GPT of 4294967295 entries");
    EXPECT_EQ(resign([](DiskImage& d) { d.header<uint64_t>(72, ~uint64_t{0}); }),
              "it refers to sectors past the end of the disk");
    EXPECT_EQ(resign([](DiskImage& d) { d.header<uint64_t>(72, 1); }),
              "the GPT entries overlap its header");
    EXPECT_EQ(resign([](DiskImage& d) {
                  d.header<uint64_t>(40, 0);
                  d.header<uint64_t>(48, ~uint64_t{0});
                  d.store<uint64_t>(1024 + 32, 0);
                  d.store<uint64_t>(1024 + 40, ~uint64_t{0});
              }),
              "GPT partition 1 lies outside what the table may use");
}

TEST(PartitionTable, AnImpossibleMbrIsIgnoredAndTheProblemNamed) {
    DiskImage beyond(disk_mib);
    beyond.boot_entry(0, 2, 0x83, {100, mib_sectors});
    EXPECT_EQ(problem_of(beyond), "partition 3 ends beyond the disk");

    DiskImage overlap(disk_mib);
    overlap.boot_entry(0, 0, 0x83, {100, 100});
    overlap.boot_entry(0, 1, 0x83, {199, 100});
    EXPECT_EQ(problem_of(overlap), "partitions 1 and 2 overlap");

    DiskImage loop(disk_mib);
    loop.boot_entry(0, 0, 0x05, {100, 1000});
    loop.boot_entry(100, 1, 0x05, {200, 100});
    loop.boot_entry(300, 1, 0x05, {200, 100});
    EXPECT_EQ(problem_of(loop), "a chain of logical partitions that does not end");

    DiskImage outside(disk_mib);
    outside.boot_entry(0, 0, 0x0f, {100, 1000});
    outside.boot_entry(100, 0, 0x83, {1, 1000});
    EXPECT_EQ(problem_of(outside), "logical partition 5 lies outside its extended partition");

    DiskImage leaving(disk_mib);
    leaving.boot_entry(0, 0, 0x0f, {100, 1000});
    leaving.boot_entry(100, 1, 0x05, {0xffffffff, 1});
    EXPECT_EQ(problem_of(leaving),
              "a logical partition's link points outside its extended partition");
}

TEST(PartitionTable, ADiskThatCannotBeReadHasNone) {
    const auto table =
        read_partition_table(disk_mib, 1, [](uint64_t, std::span<std::byte>) { return false; });
    ASSERT_TRUE(table);
    EXPECT_TRUE(table->empty());
}

// Any table is checked: every partition lies on the disk, and none overlaps another. No read lies
// outside: DiskImage::read would refuse it, and the sanitizers would report it.
TEST(PartitionTable, RandomDamageNeverGivesPartitionsThatCannotBe) {
    std::mt19937_64 random(20261121);
    DiskImage gpt(disk_mib), mbr(disk_mib);
    gpt.gpt({{100, 50}, {200, 700}, {1000, 1}});
    mbr.boot_entry(0, 0, 0x83, {64, 64});
    mbr.boot_entry(0, 3, 0x05, {200, 1500});
    mbr.boot_entry(200, 0, 0x83, {8, 100});
    mbr.boot_entry(200, 1, 0x05, {400, 400});
    mbr.boot_entry(600, 0, 0x83, {8, 100});
    const std::vector<uint64_t> interesting{0,   1,     2,          63,         127,
                                            255, 65535, 0x7fffffff, 0xffffffff, ~uint64_t{0}};
    size_t accepted = 0;
    for (int round = 0; round < computed_rounds(3000); ++round) {
        const bool is_gpt = random() % 2 == 0;
        DiskImage image = is_gpt ? gpt : mbr;
        for (auto changes = random() % 3 + 1; changes > 0; --changes) {
            const uint64_t value = random() % 2 ? interesting[random() % 10] : random();
            const uint64_t sector = is_gpt ? 1 + random() % 2 : random() % 3 * 200;
            const uint64_t within = is_gpt ? random() % 112 : 446 + random() % 58;
            image.store(sector * 512 + within, value);
        }
        if (is_gpt && random() % 4 != 0) image.sign_gpt();
        const PartitionTable table = table_of(image, random() % 2 ? 1 : 4096);
        uint64_t end = 0;
        for (const Partition& partition : table ? *table : std::vector<Partition>()) {
            ASSERT_GE(partition.first_byte, end);
            ASSERT_GT(partition.bytes, 0u);
            ASSERT_LE(partition.bytes, disk_mib);
            end = partition.end();
        }
        ASSERT_LE(end, disk_mib);
        ASSERT_TRUE(table || !table.error().empty());
        if (table && !table->empty()) ++accepted;
    }
    EXPECT_GT(accepted, 100u);  // or only the first check would be tested
}

TEST(PartitionTable, RandomBytesNeverGivePartitionsThatCannotBe) {
    std::mt19937_64 random(7);
    for (int round = 0; round < computed_rounds(2000); ++round) {
        DiskImage image(random() % 16384 + 1);
        for (std::byte& byte : image.bytes()) byte = static_cast<std::byte>(random());
        if (image.bytes().size() >= 512) {
            image.store<uint16_t>(510, 0xaa55);
            for (uint64_t i = 0; i < 4; ++i) image.store<uint8_t>(446 + 16 * i, 0);
        }
        uint64_t end = 0;
        const PartitionTable table = table_of(image);
        for (const Partition& partition : table ? *table : std::vector<Partition>()) {
            ASSERT_GE(partition.first_byte, end);
            end = partition.end();
        }
        ASSERT_LE(end, image.bytes().size());
    }
}

}  // namespace
}  // namespace blkscope
