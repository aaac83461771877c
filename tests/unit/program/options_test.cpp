#include "tools/program/options.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace blkscope::program {
namespace {

using Words = std::vector<std::string>;

struct Switches {
    bool one = false;
    bool other = false;
};

constexpr std::array flags{Flag<Switches>{'a', &Switches::one},
                           Flag<Switches>{'b', &Switches::other}};

// The letters and arguments in the order of the calls, then the operands.
std::string read(Words words, const std::string& grammar) {
    words.insert(words.begin(), "program");
    std::string text;
    const Words operands = read_options(words, grammar, [&](int letter, const char* argument) {
        text += static_cast<char>(letter);
        if (argument != nullptr) text += std::string("=") + argument;
        text += ' ';
    });
    for (const std::string& operand : operands) text += operand + ' ';
    return text;
}

TEST(Options, LettersMayBeGroupedAndTheFirstOperandEndsThem) {
    EXPECT_EQ(read({"-ab", "-c5", "-c", "6", "x", "-a"}, "abc:"), "a b c=5 c=6 x -a ");
    EXPECT_EQ(read({"-a", "--", "-b"}, "ab"), "a -b ");
    EXPECT_EQ(read({}, "a"), "");
}

TEST(Options, TheyCanBeReadAgain) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(read({"-ab", "x"}, "ab"), "a b x ");
}

TEST(Options, AnErrorIsToldInTheWordsOfEitherSystem) {
    EXPECT_EQ(read({"-x"}, "a"), "? ");
    EXPECT_EQ(option_error('?', nullptr), "illegal option -- x");
    EXPECT_EQ(freebsd_option_error('?', nullptr), "unknown option -x");
    EXPECT_EQ(read({"-c"}, "c:"), ": ");
    EXPECT_EQ(option_error(':', nullptr), "option requires an argument -- c");
    EXPECT_EQ(freebsd_option_error(':', nullptr), "no value for -c");
}

TEST(Options, ALongOptionIsOneWordAndTheLast) {
    EXPECT_EQ(read({"-a", "--colour=x", "-a"}, "ac:"), "a -=--colour=x --colour=x -a ");
    EXPECT_EQ(read({"-c", "--colour", "-a"}, "ac:"), "c=--colour a ");
    EXPECT_EQ(read({"-a-"}, "a"), "a ? ");
    for (const auto error : {option_error, freebsd_option_error}) {
        EXPECT_EQ(error(long_option, "--hlep", {"--help"}),
                  "there is no option '--hlep'; the nearest is '--help'");
    }
}

TEST(Options, AnOptionBehindTheOperandsIsAnError) {
    const auto late = [](const Words& arguments, size_t operands) {
        return late_option_error(
            arguments, Words(arguments.end() - static_cast<long>(operands), arguments.end()));
    };
    EXPECT_EQ(late({"program", "nbd0", "-x"}, 2),
              "option -x is behind the operands; options come first");
    EXPECT_EQ(late({"program", "nbd0", "1", "--hlep", "-x"}, 4),
              "there is no option '--hlep'; the nearest is '--help'");
    EXPECT_EQ(late({"program", "nbd0", "--help"}, 2),
              "option --help is behind the operands; options come first");
    EXPECT_EQ(late({"program", "-x", "--", "-y"}, 1), std::nullopt);
    EXPECT_EQ(late({"program", "nbd0", "-1", "-", ""}, 4), std::nullopt);
    EXPECT_EQ(late({"program"}, 0), std::nullopt);
}

TEST(Options, AFlagSetsItsMemberOnly) {
    Switches switches;
    EXPECT_TRUE(set_flag(switches, flags, 'b'));
    EXPECT_TRUE(!switches.one && switches.other);
    EXPECT_FALSE(set_flag(switches, flags, 'c'));
}

TEST(Options, WhatAParserThrowsIsAResult) {
    EXPECT_EQ(std::get<int>(parsed([] { return 7; })), 7);
    EXPECT_TRUE(std::holds_alternative<Help>(parsed([]() -> int { throw Help{}; })));
    const auto refused = parsed([]() -> int { throw Refusal{2, "no"}; });
    EXPECT_EQ(std::get<Refusal>(refused).status, 2);
    EXPECT_EQ(std::get<Refusal>(refused).text, "no");
}

TEST(Options, ANumberIsWholeAndDecimal) {
    EXPECT_EQ(decimal("-3"), -3);
    EXPECT_EQ(positive("3"), 3);
    EXPECT_EQ(positive(std::to_string(std::numeric_limits<int>::max())),
              std::numeric_limits<int>::max());
    for (const char* wrong : {"", "3s", "0x3", " 3", "+3", "99999999999"}) {
        EXPECT_EQ(decimal(wrong), std::nullopt) << wrong;
    }
    for (const char* wrong : {"0", "-1"}) EXPECT_EQ(positive(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace blkscope::program
