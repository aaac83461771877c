#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace blkscope {
namespace {

using std::string_view_literals::operator""sv;

TEST(Utf8, ACharacterHasOneToFourBytes) {
    EXPECT_EQ(utf8_length("disk"), 1u);
    EXPECT_EQ(utf8_length("\0"sv), 1u);
    for (const auto text : {"\xc2\x80"sv, "\xdf\xbf"sv, "\xe0\xa0\x80"sv, "\xed\x9f\xbf"sv,
                            "\xee\x80\x80"sv, "\xef\xbf\xbf"sv, "\xf0\x90\x80\x80"sv,
                            "\xf3\xbf\xbf\xbf"sv, "\xf4\x8f\xbf\xbf"sv}) {
        EXPECT_EQ(utf8_length(std::string(text) + "z"), text.size());
        EXPECT_TRUE(is_utf8(text));
    }
}

TEST(Utf8, WhatIsNoCharacterHasNoLength) {
    EXPECT_EQ(utf8_length(""), 0u);
    for (const auto text :
         {"\x80"sv, "\xbf"sv, "\xc0\x80"sv, "\xc1\xbf"sv, "\xe0\x9f\xbf"sv, "\xed\xa0\x80"sv,
          "\xf0\x8f\xbf\xbf"sv, "\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv, "\xff"sv, "\xc3"sv,
          "\xc3z"sv, "\xe2\x82"sv, "\xe2\x82z"sv, "\xf0\x90\x80"sv, "\xf0\x90z\x80"sv}) {
        EXPECT_EQ(utf8_length(text), 0u);
        EXPECT_FALSE(is_utf8(text));
        EXPECT_FALSE(is_utf8("disk" + std::string(text)));
    }
}

TEST(Utf8, ATextOfCharactersIsUtf8) {
    EXPECT_TRUE(is_utf8(""));
    EXPECT_TRUE(is_utf8("a\xc3\xb6z\0\xf0\x90\x80\x80"sv));
}

}  // namespace
}  // namespace blkscope
