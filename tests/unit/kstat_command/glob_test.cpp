#include "tools/kstat/glob.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace blkscope::kstat_command {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
    return Glob(pattern).matches(text);
}

TEST(KstatGlob, APlainPatternIsTheWholeText) {
    EXPECT_TRUE(matches("nbd0", "nbd0"));
    EXPECT_FALSE(matches("nbd", "nbd0"));
    EXPECT_FALSE(matches("bd0", "nbd0"));
    EXPECT_FALSE(matches("NBD0", "nbd0"));
    EXPECT_TRUE(matches("", ""));
    EXPECT_FALSE(matches("", "a"));
}

TEST(KstatGlob, AStarIsAnyNumberOfCharacters) {
    EXPECT_TRUE(matches("*", ""));
    EXPECT_TRUE(matches("**", "abc"));
    EXPECT_TRUE(matches("a*c", "ac"));
    EXPECT_TRUE(matches("a*c", "abcbc"));
    EXPECT_FALSE(matches("a*c", "abcb"));
    EXPECT_TRUE(matches("*ab*cd*", "xxabyabzcd"));
    EXPECT_FALSE(matches("*ab*cd*", "cdab"));
    EXPECT_TRUE(matches("intr*", "intr"));
}

TEST(KstatGlob, AQuestionMarkIsOneCharacter) {
    EXPECT_TRUE(matches("nbd?", "nbd7"));
    EXPECT_FALSE(matches("nbd?", "nbd"));
    EXPECT_FALSE(matches("nbd?", "nbd10"));
}

TEST(KstatGlob, ASetIsOneOfItsCharacters) {
    EXPECT_TRUE(matches("[abc]", "b"));
    EXPECT_FALSE(matches("[abc]", "d"));
    EXPECT_TRUE(matches("x[0-37-9]", "x2"));
    EXPECT_TRUE(matches("x[0-37-9]", "x8"));
    EXPECT_FALSE(matches("x[0-37-9]", "x5"));
    EXPECT_FALSE(matches("[c-a]", "b"));
}

TEST(KstatGlob, AnExclamationMarkNegatesASetAndACaretDoesNot) {
    EXPECT_TRUE(matches("[!a-c]", "d"));
    EXPECT_FALSE(matches("[!a-c]", "b"));
    EXPECT_TRUE(matches("[^a]", "^"));
    EXPECT_TRUE(matches("[^a]", "a"));
    EXPECT_FALSE(matches("[^a]", "b"));
    EXPECT_TRUE(matches("[a!]", "!"));
}

TEST(KstatGlob, BracketsAndDashesAtTheEdgeOfASetAreThemselves) {
    EXPECT_TRUE(matches("[]a]", "]"));
    EXPECT_TRUE(matches("[]a]", "a"));
    EXPECT_FALSE(matches("[!]a]", "]"));
    EXPECT_TRUE(matches("[-a]", "-"));
    EXPECT_TRUE(matches("[a-]", "-"));
    EXPECT_FALSE(matches("[a-]", "b"));
}

TEST(KstatGlob, ABackslashQuotesInsideAndOutsideOfSets) {
    EXPECT_TRUE(matches("\\*", "*"));
    EXPECT_FALSE(matches("\\*", "a"));
    EXPECT_TRUE(matches("\\a", "a"));
    EXPECT_TRUE(matches("a\\", "a\\"));
    EXPECT_TRUE(matches("[\\]]", "]"));
    EXPECT_TRUE(matches("[a\\-c]", "-"));
    EXPECT_FALSE(matches("[a\\-c]", "b"));
}

TEST(KstatGlob, ASetWithoutAnEndIsABracketAndWhatFollows) {
    EXPECT_TRUE(matches("[", "["));
    EXPECT_TRUE(matches("[a*", "[abc"));
    EXPECT_FALSE(matches("[a", "a"));
    EXPECT_TRUE(matches("[]", "[]"));
    EXPECT_TRUE(matches("[!", "[!"));
}

TEST(KstatGlob, SlashesDotsAndHighBytesAreOrdinary) {
    EXPECT_TRUE(matches("*", ".hidden"));
    EXPECT_TRUE(matches("?hidden", ".hidden"));
    EXPECT_TRUE(matches("a*c", "a/b/c"));
    EXPECT_TRUE(matches("[/]", "/"));
    EXPECT_TRUE(matches("?", "\xff"));
    EXPECT_TRUE(matches("[\xf0-\xff]", "\xf8"));
    EXPECT_FALSE(matches("[!\xff]", "\xff"));
}

// A matcher that tries every split would take years for this pattern.
TEST(KstatGlob, ManyStarsTakeNoTime) {
    std::string pattern;
    for (int i = 0; i < 1000; ++i) pattern += "*a";
    EXPECT_FALSE(matches(pattern + "b", std::string(5000, 'a')));
    EXPECT_TRUE(matches(pattern, std::string(5000, 'a')));
}

// The meaning of '*' and '?', in the simplest form.
bool slowly(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    const std::string_view rest = pattern.substr(1);
    if (pattern[0] == '*') {
        return slowly(rest, text) || (!text.empty() && slowly(pattern, text.substr(1)));
    }
    if (text.empty() || (pattern[0] != '?' && pattern[0] != text[0])) return false;
    return slowly(rest, text.substr(1));
}

TEST(KstatGlob, AgreesWithTheRecursiveDefinition) {
    std::mt19937 random(20261121);
    const auto text_of = [&](std::string_view alphabet, size_t length_max) {
        std::string text(random() % (length_max + 1), ' ');
        for (char& c : text) c = alphabet[random() % alphabet.size()];
        return text;
    };
    int matched = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::string pattern = text_of("ab*?", 7);
        const std::string text = text_of("ab", 9);
        ASSERT_EQ(matches(pattern, text), slowly(pattern, text)) << pattern << " on " << text;
        matched += matches(pattern, text) ? 1 : 0;
    }
    EXPECT_GT(matched, 1000);
}

}  // namespace
}  // namespace blkscope::kstat_command
