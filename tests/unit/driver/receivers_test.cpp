#include "driver/attach/receivers.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "../temporary_folder.hpp"

namespace blkscope {
namespace {

namespace fs = std::filesystem;

/// A folder like /proc, with threads of these names.
class Receivers : public ::testing::Test {
  protected:
    void SetUp() override { add("2", "kthreadd"); }

    void add(const char* process, const char* name) const {
        fs::create_directory(proc_ / process);
        std::ofstream(proc_ / process / "comm") << name << '\n';
    }

    const test::TemporaryFolder proc_;
};

TEST_F(Receivers, AreTheThreadsThatRunAnItemOfTheDevice) {
    add("17", "kworker/u5:0+nbd0-recv");
    add("18", "kworker/u5:2+nbd0-recv");
    add("201", "nbd0-recv+nbd0-recv");
    EXPECT_EQ(receivers(0, proc_), 3U);
}

TEST_F(Receivers, AreNotThreadsThatAreIdleOrOfAnotherDevice) {
    add("17", "kworker/u5:0-nbd0-recv");
    add("18", "kworker/u5:1+nbd10-recv");
    add("19", "kworker/u5:2+nbd1-recv");
    add("201", "nbd0-recv");
    fs::create_directory(proc_ / "net");
    EXPECT_EQ(receivers(0, proc_), 0U);
    EXPECT_EQ(receivers(10, proc_), 1U);
}

TEST_F(Receivers, AreUnknownWhereTheKernelsThreadsAreNotShown) {
    add("2", "sh");
    EXPECT_EQ(receivers(0, proc_), std::nullopt);
    EXPECT_EQ(receivers(0, proc_ / "absent"), std::nullopt);
}

}  // namespace
}  // namespace blkscope
