#include "tools/program/nearest.hpp"

#include <gtest/gtest.h>

namespace blkscope::program {
namespace {

using Words = std::vector<std::string>;

const Words options{"--help", "--must-exist", "--queue-depth", "--read-only"};

TEST(Nearest, IsTheWordWithTheFewestChangedLetters) {
    EXPECT_EQ(nearest("--quue-depth", options), "--queue-depth");
    EXPECT_EQ(nearest("--readonly", options), "--read-only");
    EXPECT_EQ(nearest("--must-exsit", options), "--must-exist");
    EXPECT_EQ(nearest("srv", {"serve", "list"}), "serve");
}

TEST(Nearest, IsNoWordThatIsSimilarByChance) {
    EXPECT_EQ(nearest("--foo", options), std::nullopt);
    EXPECT_EQ(nearest("foo", {"serve", "list", "top"}), std::nullopt);
    EXPECT_EQ(nearest("tpo", {"serve", "list", "top"}), "top");
    EXPECT_EQ(nearest("--", options), std::nullopt);
    EXPECT_EQ(nearest("anything", {}), std::nullopt);
}

TEST(Nearest, AnUnknownOptionIsNamedWithoutItsValue) {
    EXPECT_EQ(no_such_option("--quue-depth=8", options),
              "there is no option '--quue-depth'; the nearest is '--queue-depth'");
    EXPECT_EQ(no_such_option("--foo", options), "there is no option '--foo'");
    EXPECT_EQ(no_such_option("--must-exist=yes", options), "wrong value for option '--must-exist'");
}

}  // namespace
}  // namespace blkscope::program
