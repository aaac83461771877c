#include "base/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

namespace blkscope {
namespace {

Result<int> half_of(int number) {
    if (number % 2 != 0) return os_error(EDOM);
    return number / 2;
}

TEST(Result, HasTheValueOfASuccess) {
    const auto half = half_of(8);
    ASSERT_TRUE(half);
    EXPECT_TRUE(half.has_value());
    EXPECT_EQ(*half, 4);
}

TEST(Result, HasTheReasonOfAFailure) {
    const auto half = half_of(7);
    ASSERT_FALSE(half);
    EXPECT_FALSE(half.has_value());
    EXPECT_EQ(half.error().value(), EDOM);
    EXPECT_EQ(half.error(), std::errc::argument_out_of_domain);
}

TEST(Result, AValueMovesOut) {
    Result<std::unique_ptr<std::string>> made = std::make_unique<std::string>("disk");
    ASSERT_TRUE(made);
    EXPECT_EQ((*made)->size(), 4u);
    const std::unique_ptr<std::string> moved = std::move(*made);
    EXPECT_EQ(*moved, "disk");
}

TEST(Result, TheReasonMayBeAText) {
    const Result<std::string*, std::string> none = std::string("no disk");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error(), "no disk");
}

TEST(ResultDeathTest, NoValueIsReadFromAFailureAndNoReasonFromASuccess) {
    EXPECT_DEATH(static_cast<void>(*half_of(7)), "has_value");
    EXPECT_DEATH(static_cast<void>(half_of(8).error()), "has_value");
}

}  // namespace
}  // namespace blkscope
