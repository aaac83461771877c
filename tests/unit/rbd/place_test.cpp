#include "rbd/place.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace blkscope::rbd {
namespace {

TEST(RbdPlace, HasAPoolAndAnImageAtLeast) {
    EXPECT_EQ(parse_place("rbd:rbd/disk"), (Place{.pool = "rbd", .image = "disk"}));
    EXPECT_EQ(parse_place("rbd:p/n/i@s"),
              (Place{.pool = "p", .name_space = "n", .image = "i", .snapshot = "s"}));
}

TEST(RbdPlace, MayNameTheClusterAndTheUser) {
    EXPECT_EQ(parse_place("rbd:p/i?conf=/etc/ceph/a.conf&id=me"),
              (Place{.pool = "p", .image = "i", .conf = "/etc/ceph/a.conf", .user = "me"}));
    EXPECT_EQ(parse_place("rbd:p/i@s?id=me"),
              (Place{.pool = "p", .image = "i", .snapshot = "s", .user = "me"}));
}

TEST(RbdPlace, IsShownWithoutItsParameters) {
    EXPECT_EQ(parse_place("rbd:p/n/i@s?id=me").text(), "rbd:p/n/i@s");
    EXPECT_EQ(parse_place("rbd:p/i?id=me").text(), "rbd:p/i");
}

TEST(RbdPlace, IsRefusedIfAnyPartIsEmptyOrUnknown) {
    using namespace std::string_view_literals;
    for (const std::string_view text :
         {"rbd:"sv, "rbd:p"sv, "rbd:p/"sv, "rbd:/i"sv, "rbd://i"sv, "rbd:p//i"sv, "rbd:p/n/"sv,
          "rbd:p/n/i/x"sv, "rbd:p/i@"sv, "rbd:p/@s"sv, "rbd:p/i?"sv, "rbd:p/i?conf"sv,
          "rbd:p/i?conf="sv, "rbd:p/i?id=a&id=b"sv, "rbd:p/i?x=y"sv, "rbd:p/i?id=a&"sv,
          "rbd:p/i\0x"sv}) {
        EXPECT_THROW(parse_place(text), std::invalid_argument) << text;
    }
}

}  // namespace
}  // namespace blkscope::rbd
