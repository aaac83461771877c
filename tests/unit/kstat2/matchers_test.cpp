
#include "kstat/reader/libkstat2/matchers.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace blkscope::kstat2::reader {
namespace {

bool selects(kstat2_match_type_t type, const std::string& pattern, const std::string& uri) {
    Matchers matchers;
    matchers.add(type, pattern);
    return matchers.select(uri);
}

TEST(Kstat2Matchers, AnEmptyListSelectsEverything) {
    EXPECT_TRUE(Matchers().select("kstat:/a/b/c"));
}

TEST(Kstat2Matchers, AnyOfTheListIsEnough) {
    Matchers matchers;
    matchers.add(KSTAT2_M_STRING, "kstat:/a/b/c");
    matchers.add(KSTAT2_M_GLOB, "kstat:/x/*");
    EXPECT_TRUE(matchers.select("kstat:/a/b/c"));
    EXPECT_TRUE(matchers.select("kstat:/x/y/z"));
    EXPECT_FALSE(matchers.select("kstat:/a/b/d"));
}

struct Case {
    kstat2_match_type_t type;
    const char* pattern;
    const char* uri;
    bool selected;
};

class Kstat2MatchersCases : public testing::TestWithParam<Case> {};

TEST_P(Kstat2MatchersCases, SelectsWhatItSays) {
    EXPECT_EQ(selects(GetParam().type, GetParam().pattern, GetParam().uri), GetParam().selected)
        << GetParam().pattern;
}

INSTANTIATE_TEST_SUITE_P(
    All, Kstat2MatchersCases,
    testing::Values(Case{KSTAT2_M_STRING, "kstat:/a/b/c", "kstat:/a/b/c", true},
                    Case{KSTAT2_M_STRING, "/a/b/c", "kstat:/a/b/c", true},
                    Case{KSTAT2_M_STRING, "/a/b", "kstat:/a/b/c", false},
                    Case{KSTAT2_M_STRING, "kstat:/a/b/*", "kstat:/a/b/c", false},
                    Case{KSTAT2_M_GLOB, "kstat:/a/*", "kstat:/a/b/c", true},
                    Case{KSTAT2_M_GLOB, "*/c", "kstat:/a/b/c", true},
                    Case{KSTAT2_M_GLOB, "/a/?/[a-c]", "kstat:/a/b/c", true},
                    Case{KSTAT2_M_GLOB, "/a/?/[!a-c]", "kstat:/a/b/c", false},
                    Case{KSTAT2_M_GLOB, "a/b", "kstat:/a/b", false},
                    Case{KSTAT2_M_GLOB, "", "kstat:/a/b/c", false},
                    Case{KSTAT2_M_RE, "/b/", "kstat:/a/b/c", true},
                    Case{KSTAT2_M_RE, "^/a", "kstat:/a/b/c", false},
                    Case{KSTAT2_M_RE, "^kstat:/a/\\w+/c$", "kstat:/a/b/c", true},
                    Case{KSTAT2_M_RE, "(?i)/B/", "kstat:/a/b/c", true},
                    Case{KSTAT2_M_RE, "", "kstat:/a/b/c", true}));

TEST(Kstat2Matchers, WhatIsNoExpressionIsRefused) {
    Matchers matchers;
    EXPECT_THROW(matchers.add(KSTAT2_M_RE, "("), std::invalid_argument);
    EXPECT_THROW(matchers.add(static_cast<kstat2_match_type_t>(3), "a"), std::invalid_argument);
    EXPECT_TRUE(matchers.select("kstat:/a")) << "nothing was added";
}

TEST(Kstat2Matchers, AnExpressionThatWouldTakeForEverSelectsNothing) {
    EXPECT_FALSE(selects(KSTAT2_M_RE, "(a+)+$", "kstat:/" + std::string(200, 'a') + "!"));
}

}  // namespace
}  // namespace blkscope::kstat2::reader
