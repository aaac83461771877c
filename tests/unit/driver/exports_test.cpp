// The exports that names find, and the lists that are refused.
#include "driver/nbd/handshake/exports.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {
namespace {

ExportInfo named(std::string name, bool is_default = false) {
    return {.name = std::move(name),
            .description = {},
            .size_bytes = 1 << 20,
            .transmission_flags = transmission_flag::has_flags,
            .block_size = {},
            .is_default = is_default};
}

TEST(NbdExports, AreFoundByTheirWholeName) {
    const Exports exports({named("a"), named("ab")});
    EXPECT_EQ(exports.find("a"), 0u);
    EXPECT_EQ(exports.find("ab"), 1u);
    EXPECT_EQ(exports.find("abc"), std::nullopt);
    EXPECT_EQ(exports.find("A"), std::nullopt);
}

TEST(NbdExports, TheOnlyOneIsTheDefault) {
    EXPECT_EQ(Exports({named("a")}).find(""), 0u);
}

TEST(NbdExports, OfTwoUnmarkedOnesNeitherIsTheDefault) {
    EXPECT_EQ(Exports({named("a"), named("b")}).find(""), std::nullopt);
}

TEST(NbdExports, TheMarkedOneIsTheDefault) {
    EXPECT_EQ(Exports({named("a"), named("b", true)}).find(""), 1u);
}

TEST(NbdExports, OneWhoseNameIsEmptyIsFoundByIt) {
    EXPECT_EQ(Exports({named("a"), named("")}).find(""), 1u);
}

TEST(NbdExports, NoneHasNoDefault) {
    EXPECT_EQ(Exports({}).find(""), std::nullopt);
}

TEST(NbdExports, ANameGivenTwiceIsRefused) {
    EXPECT_THROW(Exports({named("a"), named("b"), named("a")}), std::invalid_argument);
}

TEST(NbdExports, TwoDefaultsAreRefused) {
    EXPECT_THROW(Exports({named("a", true), named("b", true)}), std::invalid_argument);
}

TEST(NbdExports, ANameOrDescriptionThatNbdCannotCarryIsRefused) {
    EXPECT_THROW(Exports({named("\xff")}), std::invalid_argument);
    ExportInfo described = named("a");
    described.description = std::string(4097, 'd');
    EXPECT_THROW(Exports({described}), std::invalid_argument);
}

}  // namespace
}  // namespace blkscope::nbd
