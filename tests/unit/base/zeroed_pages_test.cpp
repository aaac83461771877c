// Memory that takes no page until it is written to, whatever the machine says about huge pages.
#include "base/zeroed_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace blkscope {
namespace {

constexpr size_t page_bytes = 4096;
constexpr size_t mib = size_t{1} << 20;

size_t resident_pages(const ZeroedPages& memory) {
    std::vector<unsigned char> pages((memory.size_bytes() + page_bytes - 1) / page_bytes);
    EXPECT_EQ(mincore(memory.start(), memory.size_bytes(), pages.data()), 0);
    return static_cast<size_t>(
        std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }));
}

// The kernel's two-letter flags of the mapping that has the address.
std::string kernels_flags_of(const void* address) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    std::ifstream maps("/proc/self/smaps");
    bool found = false;
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        uintptr_t first = 0;
        uintptr_t end = 0;
        char dash = 0;
        if (words >> std::hex >> first >> dash >> end && dash == '-') {
            found = first <= at && at < end;
        }
        if (found && line.starts_with("VmFlags:")) return line + " ";
    }
    return {};
}

TEST(ZeroedPages, OnlyWrittenPagesAreResident) {
    const ZeroedPages memory(8 * mib);
    ASSERT_NE(memory.start(), nullptr);
    EXPECT_EQ(resident_pages(memory), 0u);
    for (size_t i = 0; i < 4; ++i) memory.start()[2 * mib * i] = std::byte{'w'};
    EXPECT_EQ(resident_pages(memory), 4u);
}

TEST(ZeroedPages, ADroppedPageIsZeroAndNotResident) {
    const ZeroedPages memory(4 * mib);
    ASSERT_NE(memory.start(), nullptr);
    std::fill_n(memory.start(), 4 * mib, std::byte{'w'});
    ASSERT_TRUE(memory.drop(page_bytes, page_bytes));
    EXPECT_EQ(resident_pages(memory), 4 * mib / page_bytes - 1);
    EXPECT_EQ(memory.start()[page_bytes - 1], std::byte{'w'});
    EXPECT_EQ(memory.start()[2 * page_bytes], std::byte{'w'});
    EXPECT_TRUE(std::all_of(memory.start() + page_bytes, memory.start() + 2 * page_bytes,
                            [](std::byte b) { return b == std::byte{0}; }));
    ASSERT_TRUE(memory.drop_all());
    EXPECT_EQ(resident_pages(memory), 0u);
}

// "nh" of proc(5): no huge page, now or later by khugepaged.
TEST(ZeroedPages, NoHugePageIsEverUsed) {
    if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) {
        GTEST_SKIP() << "SKIPPED: this kernel has no huge pages to keep away";
    }
    const ZeroedPages memory(8 * mib);
    const std::string flags = kernels_flags_of(memory.start());
    ASSERT_FALSE(flags.empty());
    EXPECT_NE(flags.find(" nh "), std::string::npos) << flags;
}

TEST(ZeroedPages, MoreThanTheAddressSpaceIsNoMemory) {
    const ZeroedPages memory(size_t{1} << 62);
    EXPECT_EQ(memory.start(), nullptr);
    EXPECT_EQ(errno, ENOMEM);
}

}  // namespace
}  // namespace blkscope
