#include "tools/blkscope/memory_room.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "../temporary_folder.hpp"

namespace blkscope {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t room_mib = uint64_t{1} << 20;

// The files of a machine with 1000 MiB of memory and 200 MiB of swap.
class MemoryRoom : public testing::Test {
  protected:
    void SetUp() override {
        write("proc/meminfo",
              "MemTotal: 1024000 kB\nMemFree: 5 kB\nHugePages_Total: 0\nSwapTotal: 204800 kB\n");
    }

    void write(const std::string& file, const std::string& text) const {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text;
    }
    void limit(const std::string& file, uint64_t bytes) const {
        write("sys/fs/cgroup/" + file, std::to_string(bytes) + "\n");
    }

    const test::TemporaryFolder root_;
};

TEST_F(MemoryRoom, IsTheMachinesMemoryAndSwapWithoutAGroup) {
    EXPECT_EQ(memory_room(root_), 1200 * room_mib);
    write("proc/self/cgroup", "0::/user.slice\n");
    write("sys/fs/cgroup/user.slice/memory.max", "max\n");
    write("sys/fs/cgroup/user.slice/memory.swap.max", "max\n");
    EXPECT_EQ(memory_room(root_), 1200 * room_mib);
}

TEST_F(MemoryRoom, IsTheSmallestLimitOfTheGroupAndThoseAroundIt) {
    write("proc/self/cgroup", "0::/a/b\n");
    limit("a/memory.max", 300 * room_mib);
    limit("a/b/memory.max", 500 * room_mib);
    EXPECT_EQ(memory_room(root_), 500 * room_mib);  // 300 and the machine's swap
    limit("a/memory.swap.max", 0);
    EXPECT_EQ(memory_room(root_), 300 * room_mib);
    limit("memory.max", 100 * room_mib);  // a container sees its own group as the top
    limit("memory.swap.max", 50 * room_mib);
    EXPECT_EQ(memory_room(root_), 150 * room_mib);
}

TEST_F(MemoryRoom, OldGroupsLimitMemoryAndSwapTogether) {
    write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n");
    limit("memory/x/memory.limit_in_bytes", 400 * room_mib);
    EXPECT_EQ(memory_room(root_), 600 * room_mib);
    limit("memory/x/memory.memsw.limit_in_bytes", 450 * room_mib);
    EXPECT_EQ(memory_room(root_), 450 * room_mib);
    limit("memory/memory.limit_in_bytes", uint64_t{9223372036854771712U});
    EXPECT_EQ(memory_room(root_), 450 * room_mib);
}

TEST_F(MemoryRoom, IsEndlessWhereNothingCanBeRead) {
    EXPECT_EQ(memory_room(root_ / "nothing"), std::numeric_limits<uint64_t>::max());
    EXPECT_GT(memory_room(), 64 * room_mib);
}

}  // namespace
}  // namespace blkscope
