// The strings that the protocol allows, and their form in logs.
#include <gtest/gtest.h>

#include "driver/nbd/protocol.hpp"
#include "driver/nbd/text.hpp"

namespace blkscope::nbd {
namespace {

using std::string_view_literals::operator""sv;

TEST(NbdText, Utf8OfEveryLengthIsValid) {
    for (const auto text : {""sv, "disk"sv, "\x01\x7f"sv, "\xc2\x80"sv, "\xdf\xbf"sv,
                            "\xe0\xa0\x80"sv, "\xed\x9f\xbf"sv, "\xee\x80\x80"sv, "\xef\xbf\xbf"sv,
                            "\xf0\x90\x80\x80"sv, "\xf4\x8f\xbf\xbf"sv, "a\xc3\xb6z"sv}) {
        EXPECT_TRUE(valid_string(text)) << printable(text);
    }
}

TEST(NbdText, ANulIsInvalidWhereverItStands) {
    EXPECT_FALSE(valid_string("\0"sv));
    EXPECT_FALSE(valid_string("a\0b"sv));
    EXPECT_FALSE(valid_string("ab\0"sv));
}

TEST(NbdText, WhatUtf8ForbidsIsInvalid) {
    for (const auto text :
         {"\x80"sv, "\xbf"sv, "\xc0\x80"sv, "\xc1\xbf"sv, "\xe0\x9f\xbf"sv, "\xed\xa0\x80"sv,
          "\xf0\x8f\xbf\xbf"sv, "\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv, "\xff"sv, "\xc3"sv,
          "\xc3z"sv, "\xe2\x82"sv, "\xe2\x82z"sv, "\xf0\x90\x80"sv, "\xf0\x90z\x80"sv}) {
        EXPECT_FALSE(valid_string(text)) << printable(text);
    }
}

TEST(NbdText, MoreThan4096BytesAreInvalid) {
    EXPECT_TRUE(valid_string(std::string(4096, 'n')));
    EXPECT_FALSE(valid_string(std::string(4097, 'n')));
}

TEST(NbdText, PrintableAsciiIsShownAsItIsAndTheRestInHex) {
    EXPECT_EQ(printable("a disk-1 ~"), "a disk-1 ~");
    EXPECT_EQ(printable("a\n\"\\\xc3\xb6\x7f\0"sv), "a\\x0a\\x22\\x5c\\xc3\\xb6\\x7f\\x00");
}

TEST(NbdText, WhatIsLongIsCutAndSaysSo) {
    EXPECT_EQ(printable(std::string(64, 'n')), std::string(64, 'n'));
    EXPECT_EQ(printable(std::string(65, 'n')), std::string(64, 'n') + "...");
    EXPECT_EQ(printable(std::string(4096, '\n')).size(), printable_bytes_max);
}

}  // namespace
}  // namespace blkscope::nbd
