// What a text begins with.
#include "base/text_encoding.hpp"

#include <gtest/gtest.h>

#include "base/json_string.hpp"

namespace blkscope {
namespace {

using namespace std::string_view_literals;

TEST(TextEncoding, TheMarkOfUtf8IsNoPartOfTheText) {
    EXPECT_EQ(without_mark("\xef\xbb\xbfop,offset"), "op,offset");
    EXPECT_EQ(without_mark("op,offset"), "op,offset");
    EXPECT_EQ(without_mark("\xef\xbb"), "\xef\xbb");
    EXPECT_EQ(without_mark(""), "");
}

TEST(TextEncoding, WideTextsHaveNames) {
    EXPECT_EQ(wide_encoding("\xff\xfeo\0p\0"sv), "UTF-16");
    EXPECT_EQ(wide_encoding("\xfe\xff\0o\0p"sv), "UTF-16");
    EXPECT_EQ(wide_encoding("o\0p\0"sv), "UTF-16");
    EXPECT_EQ(wide_encoding("\0o\0p"sv), "UTF-16");
    EXPECT_EQ(wide_encoding("\xff\xfe\0\0o\0\0\0"sv), "UTF-32");
    EXPECT_EQ(wide_encoding("\0\0\xfe\xff\0\0\0o"sv), "UTF-32");
}

TEST(TextEncoding, OtherBytesAreNotWide) {
    EXPECT_EQ(wide_encoding(""), "");
    EXPECT_EQ(wide_encoding("op,offset"), "");
    EXPECT_EQ(wide_encoding("\0\0\0\0\0\0"sv), "");
    EXPECT_EQ(wide_encoding("\xef\xbb\xbfop"), "");
}

TEST(JsonString, KeepsUtf8AndEscapesTheRest) {
    EXPECT_EQ(json_string("a\xc3\xa4\"\\\n\t\x01\x7f\xe4"),
              "\"a\xc3\xa4\\\"\\\\\\n\\t\\u0001\\u007f\\u00e4\"");
}

}  // namespace
}  // namespace blkscope
