#include "tools/blkscope/programs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace blkscope {
namespace {

class Programs : public ::testing::Test {
  protected:
    Programs() { std::filesystem::create_directories(bin_); }
    ~Programs() override { std::filesystem::remove_all(top_); }

    const std::filesystem::path top_ =
        std::filesystem::temp_directory_path() / ("programs_test." + std::to_string(getpid()));
    const std::string bin_ = top_ / "bin";
};

TEST_F(Programs, AreIostatGstatKstatAndKstat2) {
    for (const char* name : {"iostat", "gstat", "kstat", "kstat2"}) EXPECT_TRUE(is_program(name));
    for (const char* name : {"", "serve", "iostat2", "-iostat"}) EXPECT_FALSE(is_program(name));
}

TEST_F(Programs, AreBesideBlkscopeInABuildFolder) {
    EXPECT_EQ(program_path(bin_, "iostat"), bin_ + "/iostat");
}

// The iostat beside an installed blkscope is sysstat's.
TEST_F(Programs, AreInTheirOwnFolderIfThereIsOne) {
    const std::filesystem::path apart = top_ / "lib/blkscope/bin";
    std::filesystem::create_directories(apart);
    EXPECT_EQ(program_path(bin_, "iostat"), apart / "iostat");
}

}  // namespace
}  // namespace blkscope
