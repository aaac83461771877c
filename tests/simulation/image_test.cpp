// The parts that let a disk of a life have any size, against the plainest form of the same.
#include "image.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "histories.hpp"
#include "random.hpp"
#include "simulated_file.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t gib = uint64_t{1} << 30;

TEST(Image, ReadsWhatWasWrittenAcrossFourGibibytes) {
    Image image(9 * gib);
    const std::vector<std::byte> data(3 * page_bytes, std::byte{7});
    image.write(4 * gib - page_bytes, data);
    image.clear(4 * gib, 512);
    std::vector<std::byte> found(data.size() + page_bytes);
    image.read(4 * gib - 2 * page_bytes, found);
    EXPECT_EQ(std::ranges::count(found, std::byte{7}), 3 * ptrdiff_t{page_bytes} - 512);
    EXPECT_EQ(image.sector(4 * gib / sector_bytes + 1)[0], std::byte{7});
    image.clear(0, image.bytes());
    EXPECT_TRUE(image.pages().empty());
}

TEST(PageRuns, EqualASetOfPages) {
    Random random(1, 1);
    constexpr uint64_t pages = 64;
    PageRuns runs;
    std::vector<bool> plain(pages);
    for (int i = 0; i < 5000; ++i) {
        const uint64_t first = random.below(pages);
        const uint64_t end = random.between(first, pages);
        const bool adds = random.one_in(2);
        adds ? runs.add(first, end) : runs.remove(first, end);
        for (uint64_t page = first; page < end; ++page) plain[page] = adds;
        const uint64_t from = random.below(pages);
        const bool wanted = random.one_in(2);
        uint64_t expected = from;
        while (expected < pages && plain[expected] != wanted) ++expected;
        if (expected == pages && wanted) expected = PageRuns::none;
        ASSERT_EQ(runs.next(from, wanted), expected);
    }
}

// Wide writes are 64 MiB and more, so each block of the plain form stands for 16 MiB.
TEST(Histories, EqualListsOfEachBlock) {
    Random random(2, 1);
    constexpr uint64_t scale = (uint64_t{16} << 20) / 512;
    constexpr uint64_t count = 40;
    Histories histories(count * scale);
    std::vector<Histories::History> plain(count);
    for (uint32_t write = 1; write < 300; ++write) {
        const uint64_t first = random.below(count);
        const uint64_t end = random.one_in(2) ? first + 1 : random.between(first + 1, count);
        if (end - first < 4) {
            for (uint64_t i = first; i < end; ++i) {
                histories.add(i * scale, i * scale + 1, write);
                plain[i].push_back(write);
            }
        } else {
            histories.add(first * scale, end * scale, write);
            for (uint64_t i = first; i < end; ++i) plain[i].push_back(write);
        }
        for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(histories.of(i * scale), plain[i]) << i;
    }
    uint64_t block = 0;
    for (uint64_t next = 0; block < count * scale; block = next) {
        next = histories.next(block);
        for (const uint64_t at : {block + (next - block) / 2, next - 1}) {
            if (at > block) {
                ASSERT_EQ(histories.of(at), histories.of(block + 1));
            }
        }
    }
}

TEST(SimulatedFile, KeepsFourGibibytesOfZeroesThroughACrash) {
    Random random(3, 1);
    SimulatedFile file(9 * gib);
    const std::vector<std::byte> data(page_bytes, std::byte{7});
    for (const uint64_t at : {gib, 4 * gib, 6 * gib}) file.write(at, data);
    file.sync();
    EXPECT_EQ(file.seek(gib + page_bytes, SEEK_DATA), int64_t{4 * gib});
    file.zero(2 * gib, 4 * gib + 512, true);
    file.sync();
    const Image left = file.crash(random);
    EXPECT_EQ(left.sector(gib / sector_bytes)[0], std::byte{7});
    EXPECT_EQ(left.sector(4 * gib / sector_bytes)[0], std::byte{0});
    EXPECT_EQ(left.sector(6 * gib / sector_bytes)[0], std::byte{0});
    EXPECT_EQ(left.sector(6 * gib / sector_bytes + 1)[0], std::byte{7});
    EXPECT_EQ(file.seek(gib + page_bytes, SEEK_DATA), int64_t{6 * gib});
}

}  // namespace
}  // namespace blkscope::simulation
