#include "driver/attach/partitions.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"

namespace blkscope {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds scan_ample{20'000};

TEST(Partitions, AreTheFoldersOfADiskThatHaveANumberAsOne) {
    const test::TemporaryFolder disk;
    for (const char* folder : {"queue", "nbd0p2", "nbd0p1", "holders"}) {
        fs::create_directory(disk / folder);
    }
    EXPECT_TRUE(partitions(disk).empty());
    for (const char* partition : {"nbd0p2", "nbd0p1"}) {
        std::ofstream(fs::path(disk / partition) / "partition") << "1\n";
    }
    EXPECT_EQ(partitions(disk), (std::vector<std::string>{"nbd0p1", "nbd0p2"}));
    EXPECT_TRUE(partitions(disk / "absent").empty());
}

TEST(Partitions, AScanOpensTheDiskOrSaysWhyNot) {
    const test::TemporaryFolder folder;
    EXPECT_EQ(scan_partitions("/dev/null", scan_ample), "");
    const std::string reason = scan_partitions(folder / "absent", scan_ample);
    EXPECT_NE(reason.find("No such file or directory"), std::string::npos) << reason;
}

// A named pipe without a writer is like a disk whose server does not answer: open() waits.
TEST(Partitions, AScanDoesNotWaitForADiskThatDoesNotAnswer) {
    const test::TemporaryFolder folder;
    const std::string disk = folder / "disk";
    ASSERT_EQ(mkfifo(disk.c_str(), 0600), 0);
    EXPECT_EQ(scan_partitions(disk, milliseconds(1000)), "the disk has not answered for 1 s");
    std::ofstream answers(disk);  // the process opens the other end, and ends
    EXPECT_GT(::wait(nullptr), 0);
}

}  // namespace
}  // namespace blkscope
