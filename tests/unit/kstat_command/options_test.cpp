#include "tools/kstat/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace blkscope::kstat_command {
namespace {

using Words = std::vector<std::string>;

std::variant<Options, Help, Refusal> parse(Words words) {
    words.insert(words.begin(), "kstat");
    return parse_options(words);
}

Options accepted(const Words& words) {
    const auto parsed = parse(words);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) ADD_FAILURE() << refusal->text;
    return std::holds_alternative<Options>(parsed) ? std::get<Options>(parsed) : Options{};
}

// The text in front of the usage.
std::string refused(const Words& words) {
    const auto parsed = parse(words);
    const auto* refusal = std::get_if<Refusal>(&parsed);
    if (refusal == nullptr || !refusal->text.ends_with(usage_text())) return "not refused";
    return refusal->text.substr(0, refusal->text.size() - usage_text().size());
}

TEST(KstatOptions, WithoutAnyThereIsOneReportOnEverything) {
    const Options options = accepted({});
    EXPECT_EQ(options.format, Format::blocks);
    EXPECT_FALSE(options.class_listed || options.quiet);
    EXPECT_EQ(options.stamp, Stamp::none);
    EXPECT_TRUE(options.kstat_class.matches("misc"));
    ASSERT_EQ(options.selectors.size(), 1u);
    EXPECT_TRUE(options.selectors[0].module.matches("anything"));
    EXPECT_FALSE(options.interval_s || options.count);
}

TEST(KstatOptions, EachFormHasALetter) {
    EXPECT_EQ(accepted({"-p"}).format, Format::tabs);
    EXPECT_EQ(accepted({"-C"}).format, Format::colons);
    EXPECT_EQ(accepted({"-l"}).format, Format::names);
    EXPECT_EQ(accepted({"-j"}).format, Format::json);
    EXPECT_TRUE(accepted({"-q"}).quiet);
}

TEST(KstatOptions, JsonBeatsNamesBeatColonsBeatTabs) {
    EXPECT_EQ(accepted({"-Cp"}).format, Format::colons);
    EXPECT_EQ(accepted({"-lC"}).format, Format::names);
    EXPECT_EQ(accepted({"-Clpj"}).format, Format::json);
    EXPECT_EQ(accepted({"-jp"}).format, Format::json);
}

TEST(KstatOptions, TheClassIsListedLineByLineAndInJsonOnlyIfAskedFor) {
    for (const char* listing : {"-p", "-C", "-l", "-jp", "-jl"}) {
        EXPECT_TRUE(accepted({listing}).class_listed) << listing;
    }
    EXPECT_FALSE(accepted({"-j"}).class_listed);
}

TEST(KstatOptions, QuietGoesWithNoForm) {
    for (const char* both : {"-qp", "-qC", "-lq", "-jq"}) {
        EXPECT_EQ(refused({both}), "-q and -lpj are mutually exclusive\n") << both;
    }
}

TEST(KstatOptions, OnlyTheFirstLetterOfAStampCounts) {
    EXPECT_EQ(accepted({"-T", "u"}).stamp, Stamp::epoch);
    EXPECT_EQ(accepted({"-Tdate"}).stamp, Stamp::date);
    EXPECT_EQ(refused({"-T", "x"}), "");
    EXPECT_EQ(refused({"-T", ""}), "");
}

TEST(KstatOptions, TheLastOfARepeatedOptionWins) {
    const Options options = accepted({"-m", "a", "-i", "1", "-n", "b", "-s", "c", "-c", "d",  //
                                      "-m", "A", "-i", "2", "-n", "B", "-s", "C", "-c", "D"});
    ASSERT_EQ(options.selectors.size(), 1u);
    const Selector& selector = options.selectors[0];
    EXPECT_TRUE(selector.module.matches("A") && !selector.module.matches("a"));
    EXPECT_TRUE(selector.instance.matches("2") && !selector.instance.matches("1"));
    EXPECT_TRUE(selector.name.matches("B") && !selector.name.matches("b"));
    EXPECT_TRUE(selector.statistic.matches("C") && !selector.statistic.matches("c"));
    EXPECT_TRUE(options.kstat_class.matches("D") && !options.kstat_class.matches("d"));
}

TEST(KstatOptions, NumbersAreIntervalAndCountWhereverTheyStand) {
    const Options options = accepted({"5", "cpu", "3", "unix:0"});
    EXPECT_EQ(options.interval_s, 5);
    EXPECT_EQ(options.count, 3);
    ASSERT_EQ(options.selectors.size(), 2u);
    EXPECT_TRUE(options.selectors[0].module.matches("cpu"));
    EXPECT_TRUE(options.selectors[1].module.matches("unix"));
    EXPECT_EQ(accepted({"7"}).interval_s, 7);
    EXPECT_FALSE(accepted({"7"}).count.has_value());
}

TEST(KstatOptions, WhatIsNoNumberFromEndToEndIsASelector) {
    for (const char* operand : {"5s", "0x5", "1.5", "+5", " 5", "5:", "a5"}) {
        const Options options = accepted({operand});
        EXPECT_FALSE(options.interval_s.has_value()) << operand;
        EXPECT_EQ(options.selectors.size(), 1u);
    }
}

TEST(KstatOptions, AnIntervalAndACountAreAtLeastOne) {
    EXPECT_EQ(refused({"0"}), "Interval must be an integer >= 1\n");
    EXPECT_EQ(refused({""}), "Interval must be an integer >= 1\n");
    EXPECT_EQ(refused({"1", "00"}), "Count must be an integer >= 1\n");
    EXPECT_EQ(refused({"1", ""}), "Count must be an integer >= 1\n");
    EXPECT_EQ(refused({"99999999999999999999"}), "Interval is too large\n");
    EXPECT_EQ(refused({"1", "2147483648"}), "Count is too large\n");
    EXPECT_EQ(accepted({"2147483647"}).interval_s, 2147483647);
    EXPECT_EQ(refused({"1", "2", "3"}), "");
}

TEST(KstatOptions, SelectorsExcludeAllPatternOptionsButTheClass) {
    for (const char* option : {"-m", "-i", "-n", "-s"}) {
        EXPECT_EQ(refused({option, "x", "a:0"}),
                  "module:instance:name:statistic and -m -i -n -s are mutually exclusive\n");
    }
    EXPECT_EQ(accepted({"-c", "disk", "a:0"}).selectors.size(), 1u);
    EXPECT_EQ(accepted({"-m", "x", "1", "2"}).count, 2);
}

TEST(KstatOptions, MoreThanFourFieldsAreWrongUsage) {
    EXPECT_EQ(refused({"a:b:c:d:e"}), "");
}

TEST(KstatOptions, ABadRegularExpressionSaysWhatIsWrongWithIt) {
    const std::string why = "kstat: Invalid preceding regular expression\n";
    EXPECT_EQ(refused({"/+/"}), why);
    EXPECT_EQ(refused({"a:0:b:/+/"}), why);
    for (const char* option : {"-c", "-m", "-i", "-n", "-s"}) {
        EXPECT_EQ(refused({option, "/+/"}), why) << option;
    }
}

TEST(KstatOptions, ARegularExpressionOfPerlsSaysWhatIsNotAvailable) {
    const std::string in_one = " is not available in a regular expression\n";
    EXPECT_EQ(refused({"-n", "/(?i)NBD/"}), "kstat: (?i), either case of a letter," + in_one);
    EXPECT_EQ(refused({"nbd:0:/^nbd(?!0)/"}), "kstat: look-ahead, (?!...)," + in_one);
    EXPECT_EQ(refused({":::/\\Aread/"}), "kstat: \\A" + in_one);
    EXPECT_EQ(accepted({"nbd:/\\d/:/\\w/"}).selectors.size(), 1u);
}

TEST(KstatOptions, UnknownOptionsAndMissingArgumentsAreWrongUsage) {
    EXPECT_EQ(refused({"-H"}), "kstat: illegal option -- H\n");
    EXPECT_EQ(refused({"-?"}), "kstat: illegal option -- ?\n");
    EXPECT_EQ(refused({"--hepl"}), "kstat: there is no option '--hepl'; the nearest is '--help'\n");
    EXPECT_EQ(refused({"nbd:0", "-p"}),
              "kstat: option -p is behind the operands; options come first\n");
    EXPECT_EQ(refused({"-p", "-n"}), "kstat: option requires an argument -- n\n");
}

TEST(KstatOptions, NoOptionIsTakenBehindTheFirstOperand) {
    EXPECT_EQ(refused({"cpu", "-p"}),
              "kstat: option -p is behind the operands; options come first\n");
    const Options options = accepted({"--", "cpu", "-p"});
    EXPECT_EQ(options.format, Format::blocks);
    EXPECT_EQ(options.selectors.size(), 2u);
    EXPECT_EQ(accepted({"-p", "--", "-x"}).selectors.size(), 1u);
}

TEST(KstatOptions, HelpIsOneScreenNoWiderThanATerminal) {
    EXPECT_TRUE(std::holds_alternative<Help>(parse({"-h"})));
    EXPECT_TRUE(std::holds_alternative<Help>(parse({"-ph"})));
    EXPECT_TRUE(std::holds_alternative<Help>(parse({"--help"})));
    const std::string text = help_text();
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
    size_t start = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
        EXPECT_LE(end - start, 80u);
        start = end + 1;
    }
}

}  // namespace
}  // namespace blkscope::kstat_command
