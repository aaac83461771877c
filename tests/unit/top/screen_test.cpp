#include "tools/top/screen.hpp"

#include <gtest/gtest.h>

namespace blkscope::top {
namespace {

TEST(TopScreen, TextBeginsWhereItIsPut) {
    Screen screen({.columns = 8, .rows = 2});
    EXPECT_EQ(screen.put(2, 1, "abc", Role::warning), 5);
    EXPECT_EQ(screen.text(), "\n  abc\n");
    EXPECT_EQ(screen.at(2, 1), (Cell{.glyph = U'a', .role = Role::warning, .reversed = false}));
}

TEST(TopScreen, WhatHasNoRoomIsCutOff) {
    Screen screen({.columns = 3, .rows = 1});
    screen.put(-1, 0, "abcdef");
    screen.put(0, 1, "below");
    screen.put(0, -1, "above");
    screen.reverse_row(7);
    EXPECT_EQ(screen.text(), "bcd\n");
}

TEST(TopScreen, ANegativeSizeIsNone) {
    Screen screen({.columns = -4, .rows = -1});
    screen.put(0, 0, "x");
    EXPECT_EQ(screen.text(), "");
}

TEST(TopScreen, NamesCannotControlTheTerminal) {
    Screen screen({.columns = 10, .rows = 1});
    screen.put(0, 0, "a\x1b[2J\n\xc3");
    EXPECT_EQ(screen.row_text(0), "a?[2J??");
}

TEST(TopScreen, GlyphsAreUtf8) {
    Screen screen({.columns = 4, .rows = 1});
    screen.put_glyph(0, 0, U'\u2588');
    screen.put_glyph(1, 0, U'\u00e9');
    screen.put_glyph(2, 0, U'x');
    EXPECT_EQ(screen.row_text(0), "\xe2\x96\x88\xc3\xa9x");
}

TEST(TopScreen, ReversingKeepsTheText) {
    Screen screen({.columns = 2, .rows = 2});
    screen.put(0, 1, "ab");
    screen.reverse_row(1);
    EXPECT_FALSE(screen.at(0, 0).reversed);
    EXPECT_TRUE(screen.at(1, 1).reversed);
    EXPECT_EQ(screen.row_text(1), "ab");
}

}  // namespace
}  // namespace blkscope::top
