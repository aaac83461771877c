#include <gtest/gtest.h>

#include "kstat/host/text.hpp"

namespace blkscope::kstat::host {

namespace {

TEST(HostText, LinesAndWordsAreCutOffTheFront) {
    std::string_view text = " a  b\n\nc";
    auto line = take_line(text);
    ASSERT_TRUE(line);
    EXPECT_EQ(take_word(*line), "a");
    EXPECT_EQ(take_word(*line), "b");
    EXPECT_EQ(take_word(*line), "");
    EXPECT_EQ(take_line(text), "");
    EXPECT_EQ(take_line(text), "c");
    EXPECT_EQ(take_line(text), std::nullopt);
}

TEST(HostText, OnlyWholeDecimalsAreNumbers) {
    EXPECT_EQ(to_number("18446744073709551615"), UINT64_MAX);
    for (const char* text : {"", "-1", "1x", "0x1", " 1", "18446744073709551616"}) {
        EXPECT_EQ(to_number(text), std::nullopt) << text;
    }
    EXPECT_EQ(leading_number("2700.125"), 2700u);
    EXPECT_EQ(leading_number(".5"), std::nullopt);
}

TEST(HostText, AKeyIsAWholeWordAtALinesBegin) {
    const std::string_view text = "xab 1\nab_more 2\nab 3 4\nabc 5";
    EXPECT_EQ(rest_of_line(text, "ab"), "3 4");
    EXPECT_EQ(value_of(text, "ab"), 3u);
    EXPECT_EQ(value_of(text, "abc"), 5u);
    EXPECT_EQ(value_of(text, "b"), 0u);
    EXPECT_EQ(rest_of_line("ab", "ab"), "");
    EXPECT_EQ(value_of("ab", "ab"), 0u);
}

TEST(HostText, APrefixSumsTheLinesThatBeginWithIt) {
    EXPECT_EQ(sum_of("ab_x 1\nab_y 2\nab 4\nxab 8\nab_z no", "ab"), 7u);
}

}  // namespace

}  // namespace blkscope::kstat::host
