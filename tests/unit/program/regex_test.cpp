#include "tools/program/regex.hpp"

#include <gtest/gtest.h>
#include <regex.h>

#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <string>

#include "../failure.hpp"
#include "rounds.hpp"

namespace blkscope::program {
namespace {

bool matches_expression(std::string_view expression, std::string_view text) {
    return Regex(expression).matches(text);
}

std::string refusal_of(std::string_view expression, std::string_view text = "") {
    return failure_of<BadPattern>([&] { return matches_expression(expression, text); });
}

TEST(KstatRegex, IsNotAnchored) {
    EXPECT_TRUE(matches_expression("intr", "xintry"));
    EXPECT_TRUE(matches_expression("^intr", "intrblk"));
    EXPECT_FALSE(matches_expression("^intr", "xintr"));
    EXPECT_TRUE(matches_expression("blk$", "intrblk"));
    EXPECT_TRUE(matches_expression("", "anything"));
}

TEST(KstatRegex, MindsTheCase) {
    EXPECT_FALSE(matches_expression("INTR", "intr"));
}

TEST(KstatRegex, NewlinesAreCharacters) {
    EXPECT_TRUE(matches_expression("a.b", "a\nb"));
    EXPECT_FALSE(matches_expression("a$", "a\n"));
    EXPECT_FALSE(matches_expression("^b", "a\nb"));
}

TEST(KstatRegex, ABackslashInBracketsIsItself) {
    EXPECT_TRUE(matches_expression("^[\\q]$", "\\"));
    EXPECT_TRUE(matches_expression("^[\\q]$", "q"));
    EXPECT_FALSE(matches_expression("^[\\q]$", "7"));
    EXPECT_TRUE(matches_expression("^[\\\\d]$", "d"));  // of two, the first quotes the second
    EXPECT_FALSE(matches_expression("^[\\\\d]$", "7"));
    EXPECT_TRUE(matches_expression("^[a\\]$", "\\"));  // the backslash does not quote the bracket
    EXPECT_TRUE(matches_expression("^[a\\]]$", "a]"));
}

TEST(KstatRegex, BracketsThatComeFirstInBracketsAreThemselves) {
    EXPECT_TRUE(matches_expression("^[]a]$", "]"));
    EXPECT_FALSE(matches_expression("^[^]a]$", "]"));
    EXPECT_TRUE(matches_expression("^[^]a]$", "b"));
    EXPECT_TRUE(matches_expression("^[a[]$", "["));
}

TEST(KstatRegex, BracketsKnowClassesAndSingleCollatingElements) {
    EXPECT_TRUE(matches_expression("^[[:digit:]x]+$", "1x2"));
    EXPECT_FALSE(matches_expression("^[[:digit:]]$", "a"));
    EXPECT_TRUE(matches_expression("^[[.-.]a]$", "-"));
    EXPECT_TRUE(matches_expression("^[[.].]]$", "]"));
    EXPECT_TRUE(matches_expression("^[[=a=]b]$", "a"));
    EXPECT_TRUE(matches_expression("^[[.a.]-c]$", "b"));
    EXPECT_EQ(refusal_of("[[.hyphen.]]"), "Invalid collation character");
}

TEST(KstatRegex, AClosingParenthesisAloneIsItself) {
    EXPECT_TRUE(matches_expression("^a)$", "a)"));
    EXPECT_TRUE(matches_expression("^(a))$", "a)"));
    EXPECT_TRUE(matches_expression("^[(]a)$", "(a)"));
    EXPECT_TRUE(matches_expression("^\\(a)$", "(a)"));
}

TEST(KstatRegex, WhatIsNoneSaysWhy) {
    EXPECT_EQ(refusal_of("(a"), "Unmatched ( or \\(");
    EXPECT_EQ(refusal_of("[a"), "Unmatched [, [^, [:, [., or [=");
    EXPECT_EQ(refusal_of("a\\"), "Trailing backslash");
    EXPECT_EQ(refusal_of("+"), "Invalid preceding regular expression");
    EXPECT_EQ(refusal_of("(*UTF)a"), "Invalid preceding regular expression");
    EXPECT_EQ(refusal_of(std::string(5000, 'a')), "the regular expression is too long");
}

// As perlre(1) says, for ASCII.
TEST(KstatRegex, KnowsPerlsClasses) {
    struct Class {
        const char* expression;
        std::string_view members;
    };
    constexpr std::string_view all = "09azAZ_ \t-,.:\\dws";
    for (const Class& each :
         {Class{"\\d", "09"}, Class{"\\D", "azAZ_ \t-,.:\\dws"}, Class{"\\w", "09azAZ_dws"},
          Class{"\\W", " \t-,.:\\"}, Class{"\\s", " \t"}, Class{"\\S", "09azAZ_-,.:\\dws"},
          Class{"[\\d]", "09"}, Class{"[^\\d]", "azAZ_ \t-,.:\\dws"}, Class{"[\\d,.]", "09,."},
          Class{"[,\\w]", "09azAZ_dws,"}, Class{"[\\w-]", "09azAZ_dws-"}, Class{"[\\d-,]", "09-,"},
          Class{"[\\s\\d]", " \t09"}, Class{"[]\\d]", "09"}, Class{"[[:space:]\\d]", " \t09"},
          Class{"(?:\\d|,)", "09,"}}) {
        const Regex regex("^" + std::string(each.expression) + "$");
        for (const char c : all) {
            EXPECT_EQ(regex.matches({&c, 1}), each.members.find(c) != std::string_view::npos)
                << each.expression << " on " << c;
        }
    }
    EXPECT_TRUE(matches_expression("^sd\\d+,\\w+$", "sd12,err"));
    EXPECT_FALSE(matches_expression("^sd\\d+$", "sdd"));
    EXPECT_TRUE(matches_expression("^\\\\d$", "\\d"));
    EXPECT_TRUE(matches_expression("^nbd\\d{2}$", "nbd42"));
    EXPECT_TRUE(matches_expression("\\bintr\\b", "an intr"));
    EXPECT_FALSE(matches_expression("\\bintr\\b", "an intrblk"));
}

// regcomp(3) takes the question mark for "or nothing", so that a+? would match everything.
TEST(KstatRegex, ALazyRepetitionMatchesWhatAGreedyOneDoes) {
    EXPECT_TRUE(matches_expression("^ba+?$", "baa"));
    EXPECT_FALSE(matches_expression("^ba+?$", "b"));
    EXPECT_FALSE(matches_expression("^ba{2,3}?$", "b"));
    EXPECT_TRUE(matches_expression("^ba*?c??$", "baac"));
}

TEST(KstatRegex, OtherSyntaxOfPerlsIsRefusedByName) {
    const std::string in_one = " is not available in a regular expression";
    EXPECT_EQ(refusal_of("(?i)a"), "(?i), either case of a letter," + in_one);
    EXPECT_EQ(refusal_of("(?i:a)b"), "(?i), either case of a letter," + in_one);
    EXPECT_EQ(refusal_of("^nbd(?=0)"), "look-ahead, (?=...)," + in_one);
    EXPECT_EQ(refusal_of("^(?!nbd)"), "look-ahead, (?!...)," + in_one);
    EXPECT_EQ(refusal_of("(?<=nbd)0"), "look-behind, (?<=...)," + in_one);
    EXPECT_EQ(refusal_of("(?<!nbd)0"), "look-behind, (?<!...)," + in_one);
    EXPECT_EQ(refusal_of("(?<name>a)"), "(?<...)" + in_one);
    EXPECT_EQ(refusal_of("a|(?#b)"), "(?#...)" + in_one);
    for (const char* escaped : {"\\A", "\\z", "\\Q", "\\E", "\\t", "\\n", "\\x", "\\p", "\\0"}) {
        EXPECT_EQ(refusal_of(escaped), escaped + in_one);
    }
    EXPECT_EQ(refusal_of("[a\\D]"), "\\D is not available in the brackets of a regular expression");
    EXPECT_EQ(refusal_of("\\(?i"), "none");
    EXPECT_EQ(refusal_of("[(?i)]"), "none");
}

TEST(KstatRegex, PosixHasItsOwnMeaningWherePerlHasAnother) {
    EXPECT_TRUE(matches_expression("^a{,2}$", "aa"));
    EXPECT_FALSE(matches_expression("^a{,2}$", "a{,2}"));
    EXPECT_TRUE(matches_expression("\\<intr", "an intr"));
    EXPECT_FALSE(matches_expression("\\<intr", "anintr"));
}

// With these the C library may need minutes for a name.
TEST(KstatRegex, HasNoBackReferences) {
    const char* const why = "an extended regular expression has no back-references";
    EXPECT_EQ(refusal_of("(a*)(a*)(a*)(a*)(a*)\\1\\2\\3\\4\\5x", std::string(30, 'a')), why);
    EXPECT_EQ(refusal_of("(a)\\9"), why);
    EXPECT_TRUE(matches_expression("^\\\\1[\\1]$", "\\11"));
}

TEST(KstatRegex, AHostileOneEndsSoon) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(matches_expression("(a+)+$", std::string(30, 'a') + "b"));
    EXPECT_FALSE(matches_expression("(a|aa)+$", std::string(60, 'a') + "b"));
    const char* const too_many = "the regular expression has too many repetitions";
    EXPECT_EQ(refusal_of("((a{100}){100}){100}"), too_many);
    EXPECT_EQ(refusal_of("a{9}{9}{9}{9}{9}"), too_many);
    EXPECT_EQ(refusal_of("(a{1,255}[)]{255}){255}"), too_many);
    EXPECT_EQ(refusal_of("a{99999999999999999999}"), too_many);
    std::string nested = "a";
    for (int i = 0; i < 40; ++i) nested = "(" + nested + "+)";
    EXPECT_EQ(refusal_of(nested), too_many);
    EXPECT_EQ(refusal_of("(a{20}b{20}){20}[{]{9}\\{9}"), "none");
    EXPECT_EQ(refusal_of(std::string(2000, '(') + std::string(2000, ')')), "none");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(KstatRegex, ACopyOutlivesItsOriginal) {
    auto original = std::make_unique<Regex>("^a$");
    const Regex copy = *original;
    original.reset();
    EXPECT_TRUE(copy.matches("a"));
}

// POSIX' own function defines the meaning of an extended expression.
class Posix {
  public:
    explicit Posix(const std::string& expression)
        : accepted_(regcomp(&compiled_, expression.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}
    ~Posix() {
        if (accepted_) regfree(&compiled_);
    }
    Posix(const Posix&) = delete;
    Posix& operator=(const Posix&) = delete;

    [[nodiscard]] bool accepted() const { return accepted_; }
    [[nodiscard]] bool matches(const std::string& text) const {
        return regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
    }

  private:
    regex_t compiled_{};
    bool accepted_;
};

// Random expressions of which POSIX defines the meaning, built from pieces.
std::string expression_of(std::mt19937& random, int depth) {
    constexpr std::array atoms{"a",    "b",       ".",           "[ab]",    "[^a]", "[]b]",
                               "[\\]", "[a\\.]",  "[[:alpha:]]", "\\.",     "\\)",  "[[.-.]b]",
                               "[b-]", "[^]\\-]", "[(|)*]",      "[[=a=]]", "\\\\", "x{1,2}"};
    constexpr std::array repeats{"", "", "", "*", "+", "?", "{2}", "{0,1}", "{1,}"};
    std::string expression;
    const size_t parts = 1 + random() % 3;
    for (size_t i = 0; i < parts; ++i) {
        if (depth > 0 && random() % 3 == 0) {
            expression += "(" + expression_of(random, depth - 1) + ")";
        } else {
            const std::string atom = atoms[random() % atoms.size()];
            expression += atom;
            if (atom.ends_with('}')) continue;
        }
        expression += repeats[random() % repeats.size()];
    }
    if (random() % 5 == 0) expression += "|" + expression_of(random, 0);
    return expression;
}

TEST(KstatRegex, MeansWhatPosixSays) {
    std::mt19937 random(20261121);
    constexpr std::string_view alphabet = "ab.\\)-]x*(|";
    int matched = 0;
    int compared = 0;
    for (int i = 0; i < rounds(3'000); ++i) {
        std::string expression = expression_of(random, 2);
        if (random() % 2 == 0) expression = "^(" + expression + ")$";
        const Posix posix(expression);
        ASSERT_TRUE(posix.accepted()) << expression;
        const Regex regex(expression);
        for (int j = 0; j < 10; ++j) {
            std::string text(random() % 6, ' ');
            for (char& c : text) c = alphabet[random() % alphabet.size()];
            ASSERT_EQ(regex.matches(text), posix.matches(text)) << expression << " on " << text;
            matched += regex.matches(text) ? 1 : 0;
            ++compared;
        }
    }
    EXPECT_GT(matched, compared / 20);
    EXPECT_LT(matched, compared * 19 / 20);
}

}  // namespace
}  // namespace blkscope::program
