#include "tools/kstat2/options.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace blkscope::kstat2_command {
namespace {

std::variant<Options, Help, Refusal> parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "kstat2");
    return parse_options(arguments);
}

Options understood(std::vector<std::string> arguments) {
    auto parsed = parse(std::move(arguments));
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        throw std::runtime_error(refusal->text);
    }
    return std::get<Options>(parsed);
}

bool is_refused(std::vector<std::string> arguments) {
    return std::holds_alternative<Refusal>(parse(std::move(arguments)));
}

TEST(Kstat2Options, WithoutAnyThereIsOneReportOfEverything) {
    const Options options = understood({});
    EXPECT_EQ(options.format, Format::blocks);
    EXPECT_FALSE(options.interval_s);
    EXPECT_TRUE(options.operands.empty());
}

TEST(Kstat2Options, AllHaveTheirLetters) {
    const Options options = understood(
        {"-hdm", "-i", "5", "-c3", "-T", "d", "-g", "a*", "-g", "b", "-r", "c+", "/a/b"});
    EXPECT_TRUE(options.scaled && options.descriptions && options.metadata);
    EXPECT_EQ(options.interval_s, 5);
    EXPECT_EQ(options.count, 3);
    EXPECT_EQ(options.stamp, Stamp::date);
    EXPECT_EQ(options.globs, (std::vector<std::string>{"a*", "b"}));
    EXPECT_EQ(options.expressions, std::vector<std::string>{"c+"});
    EXPECT_EQ(options.operands.at(0).uri, "kstat:/a/b");
    EXPECT_EQ(understood({"-j"}).format, Format::json);
    EXPECT_EQ(understood({"-l"}).format, Format::names);
    EXPECT_EQ(understood({"-p", "-p"}).format, Format::tabs);
    EXPECT_EQ(understood({"-q"}).format, Format::quiet);
    EXPECT_EQ(understood({"-T", "u"}).stamp, Stamp::epoch);
}

TEST(Kstat2Options, ACountAloneIsEverySecond) {
    EXPECT_EQ(understood({"-c", "2"}).interval_s, 1);
}

TEST(Kstat2Options, TheFormatsExcludeOneAnother) {
    const std::vector<std::string> formats{"-j", "-l", "-p", "-q"};
    for (const auto& one : formats) {
        for (const auto& other : formats) EXPECT_EQ(is_refused({one, other}), one != other);
        EXPECT_TRUE(is_refused({one, "-h"}));
        EXPECT_TRUE(is_refused({"-d", one}));
        EXPECT_FALSE(is_refused({one, "-m"}));
    }
}

TEST(Kstat2Options, WhatCannotBeObeyedIsRefused) {
    const std::vector<std::vector<std::string>> refused{
        {"-x"},       {"-i"},       {"-i", "0"},    {"-i", "-1"},
        {"-i", "1x"}, {"-i", ""},   {"-c", "0"},    {"-T", "x"},
        {"-T", ""},   {"-g"},       {"5"},          {"/a", "1", "2"},
        {""},         {"misc/a"},   {"/a//b"},      {"/a/"},
        {"/a/b;"},    {"/a/b:"},    {"kstat:"},     {"kstat:/a:"},
        {"http:/a"},  {"/a", "-p"}, {"--nonsense"}, {"-i", "99999999999"},
    };
    for (const auto& arguments : refused) {
        EXPECT_TRUE(is_refused(arguments)) << testing::PrintToString(arguments);
    }
}

TEST(Kstat2Options, HelpIsSpelledOut) {
    EXPECT_TRUE(std::holds_alternative<Help>(parse({"--help"})));
}

struct Case {
    const char* text;
    const char* uri;
    const char* statistic;  // null: none
};

TEST(Kstat2Options, OperandsNameKstatsOrStatistics) {
    for (const Case& c :
         {Case{"/", "kstat:/", nullptr}, Case{"kstat:/", "kstat:/", nullptr},
          Case{"/a/b/c", "kstat:/a/b/c", nullptr}, Case{"kstat:/a/b/c", "kstat:/a/b/c", nullptr},
          Case{"/vm/usage/memory;mem_zfs", "kstat:/vm/usage/memory", "mem_zfs"},
          Case{"kstat:/vm/usage:mem_zfs", "kstat:/vm/usage", "mem_zfs"},
          Case{"/a/b:c/d;e:f", "kstat:/a/b", "c/d;e:f"}}) {
        const auto operand = parse_operand(c.text);
        ASSERT_TRUE(operand) << c.text;
        EXPECT_EQ(operand->uri, c.uri);
        EXPECT_EQ(operand->statistic.value_or(""), c.statistic == nullptr ? "" : c.statistic);
    }
}

}  // namespace
}  // namespace blkscope::kstat2_command
