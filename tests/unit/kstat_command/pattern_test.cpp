#include "tools/kstat/pattern.hpp"

#include <gtest/gtest.h>

namespace blkscope::kstat_command {
namespace {

TEST(KstatPattern, BetweenSlashesThereIsARegularExpression) {
    EXPECT_TRUE(Pattern("/^intr/").matches("intrblk"));
    EXPECT_TRUE(Pattern("intr*").matches("intrblk"));
    EXPECT_FALSE(Pattern("intr").matches("intrblk"));
    EXPECT_TRUE(Pattern("//").matches("anything"));
}

// The operands that texts on kstat print, as the shell hands them over, and forms of Perl's.
TEST(KstatPattern, ExpressionsOfPerlsMeanWhatTextsOnKstatSay) {
    const Selector printed = parse_selector("cpu_stat:::/^intr/");
    EXPECT_TRUE(printed.module.matches("cpu_stat"));
    EXPECT_TRUE(printed.statistic.matches("intrblk"));
    EXPECT_FALSE(printed.statistic.matches("xintr"));
    const Selector digits =
        parse_selector("/^(sd|nbd)$/:/^\\d$/:/^\\w+?\\d+,[a-z\\d]+$/:/^[^\\s_]+$/");
    EXPECT_TRUE(digits.instance.matches("7"));
    EXPECT_FALSE(digits.instance.matches("d"));
    EXPECT_TRUE(digits.name.matches("sd12,err0"));
    EXPECT_FALSE(digits.name.matches("sd,err"));
    EXPECT_TRUE(digits.statistic.matches("reads"));
    EXPECT_FALSE(digits.statistic.matches("read_ns"));
}

TEST(KstatPattern, OneSlashIsAShellPattern) {
    EXPECT_TRUE(Pattern("/").matches("/"));
    EXPECT_FALSE(Pattern("/").matches("a/b"));
    EXPECT_TRUE(Pattern("/a").matches("/a"));
    EXPECT_TRUE(Pattern("a/").matches("a/"));
}

TEST(KstatPattern, AnEmptyOneMatchesTheEmptyTextOnly) {
    EXPECT_TRUE(Pattern("").matches(""));
    EXPECT_FALSE(Pattern("").matches("a"));
    EXPECT_TRUE(Pattern().matches("a"));
}

TEST(KstatSelector, HasUpToFourFields) {
    const Selector selector = parse_selector("m?:/^1$/:[n]:s*");
    EXPECT_TRUE(selector.module.matches("mm"));
    EXPECT_FALSE(selector.module.matches("m"));
    EXPECT_TRUE(selector.instance.matches("1"));
    EXPECT_FALSE(selector.instance.matches("11"));
    EXPECT_TRUE(selector.name.matches("n"));
    EXPECT_FALSE(selector.name.matches("[n]"));
    EXPECT_TRUE(selector.statistic.matches("stat"));
    EXPECT_FALSE(selector.statistic.matches("tats"));
}

TEST(KstatSelector, EmptyAndMissingFieldsMatchAnything) {
    for (const char* operand : {"m", "m:", "m::", "m:::"}) {
        const Selector selector = parse_selector(operand);
        EXPECT_TRUE(selector.module.matches("m"));
        EXPECT_FALSE(selector.module.matches("n"));
        EXPECT_TRUE(selector.instance.matches("7") && selector.name.matches("x"));
        EXPECT_TRUE(selector.statistic.matches("y") && selector.statistic.matches(""));
    }
    EXPECT_TRUE(parse_selector(":::x").module.matches("m"));
}

TEST(KstatSelector, FiveFieldsAreTooMany) {
    EXPECT_THROW((void)parse_selector("a:b:c:d:e"), BadPattern);
    EXPECT_THROW((void)parse_selector("a:b:c:d:"), BadPattern);
    EXPECT_THROW((void)parse_selector("::::"), BadPattern);
}

TEST(KstatSelector, AColonSplitsEvenARegularExpression) {
    EXPECT_THROW((void)parse_selector("/[[:digit:]]/:1:2"), BadPattern);
    const Selector selector = parse_selector("/a:b/");  // two shell patterns
    EXPECT_TRUE(selector.module.matches("/a"));
    EXPECT_TRUE(selector.instance.matches("b/"));
}

}  // namespace
}  // namespace blkscope::kstat_command
