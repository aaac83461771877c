
#include "kstat/reader/libkstat2/uri.hpp"

#include <gtest/gtest.h>

namespace blkscope::kstat2::reader {
namespace {

using Segments = std::vector<std::string_view>;

TEST(Kstat2Uri, TheSchemeMayBeMissing) {
    EXPECT_EQ(segments_of("kstat:/misc/x/y"), (Segments{"misc", "x", "y"}));
    EXPECT_EQ(segments_of("/misc/x/y"), (Segments{"misc", "x", "y"}));
    EXPECT_EQ(segments_of("/"), Segments{});
    EXPECT_EQ(segments_of("kstat:/"), Segments{});
}

TEST(Kstat2Uri, WhatNoMapCanBeCalledIsNoUri) {
    for (const char* text : {"", "kstat:", "misc/x", "//", "/a//b", "/a/", "http:/a", "kstat:a"}) {
        EXPECT_EQ(segments_of(text), std::nullopt) << text;
    }
}

TEST(Kstat2Uri, TheRootNeedsNoSecondSlash) {
    EXPECT_EQ(uri_below("kstat:/", "a"), "kstat:/a");
    EXPECT_EQ(uri_below("kstat:/a", "b"), "kstat:/a/b");
}

}  // namespace
}  // namespace blkscope::kstat2::reader
