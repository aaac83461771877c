#include "blockdev/backing/memory_backing.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <memory>

#include "base/zeroed_pages.hpp"

namespace blkscope {
namespace {

constexpr uint64_t large_bytes = uint64_t{256} << 20;
constexpr uint64_t page_bytes = 4096;

// The processor's time of this thread in nanoseconds, which no other process adds to.
int64_t thread_time() {
    timespec now{};
    EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// What it costs this thread to free as much memory.
int64_t time_to_free_here() {
    auto pages = std::make_unique<ZeroedPages>(large_bytes);
    EXPECT_NE(pages->start(), nullptr);
    for (uint64_t at = 0; at < large_bytes; at += page_bytes) pages->start()[at] = std::byte{1};
    const int64_t before = thread_time();
    pages.reset();
    return thread_time() - before;
}

// The caller is a worker, whose other exports have clients.
TEST(MemoryBackingTest, ALargeOneIsFreedInAnotherThread) {
    auto backing = std::make_unique<MemoryBacking>(large_bytes);
    const std::array<std::byte, 1> byte{std::byte{1}};
    for (uint64_t at = 0; at < large_bytes; at += page_bytes) {
        ASSERT_TRUE(backing->write_now(at, byte));
    }
    const int64_t before = thread_time();
    backing.reset();
    const int64_t spent = thread_time() - before;
    EXPECT_LT(spent, time_to_free_here() / 2);
}

TEST(MemoryBackingTest, TheLastOfSeveralFreesTheirMemory) {
    auto first = std::make_unique<MemoryBacking>(large_bytes);
    const std::array<std::byte, 1> byte{std::byte{7}};
    ASSERT_TRUE(first->write_now(page_bytes, byte));
    auto second = first->another();
    first.reset();
    std::array<std::byte, 1> read{};
    ASSERT_TRUE(second->read_now(page_bytes, read));
    EXPECT_EQ(read, byte);
}

}  // namespace
}  // namespace blkscope
