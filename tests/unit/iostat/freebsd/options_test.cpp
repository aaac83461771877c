#include "tools/iostat/freebsd/options.hpp"

#include <gtest/gtest.h>

namespace blkscope::iostat::freebsd {
namespace {

using Arguments = std::vector<std::string>;

std::variant<Options, Help, Refusal> parse(Arguments arguments) {
    arguments.insert(arguments.begin(), "iostat");
    return parse_options(std::move(arguments));
}

Options understood(Arguments arguments) {
    const auto parsed = parse(std::move(arguments));
    EXPECT_TRUE(std::holds_alternative<Options>(parsed));
    return std::holds_alternative<Options>(parsed) ? std::get<Options>(parsed) : Options{};
}

std::string refused(Arguments arguments) {
    const auto parsed = parse(std::move(arguments));
    const auto* refusal = std::get_if<Refusal>(&parsed);
    return refusal != nullptr ? refusal->text : "not refused";
}

TEST(FreebsdStyle, IsTakenOutOfTheArguments) {
    for (const Arguments& given : {Arguments{"iostat", "--style=freebsd", "-x"},
                                   Arguments{"iostat", "-x", "--style", "freebsd"}}) {
        Arguments arguments = given;
        EXPECT_TRUE(take_style(arguments));
        EXPECT_EQ(arguments, (Arguments{"iostat", "-x"}));
    }
}

TEST(FreebsdStyle, TheOtherIsTheDefaultAndMayBeNamed) {
    Arguments arguments{"iostat", "-x"};
    EXPECT_FALSE(take_style(arguments));
    arguments = {"iostat", "--style=solaris", "-x"};
    EXPECT_FALSE(take_style(arguments));
    EXPECT_EQ(arguments, (Arguments{"iostat", "-x"}));
}

TEST(FreebsdStyle, OneThatThereIsNotIsLeftIn) {
    for (const Arguments& given :
         {Arguments{"iostat", "--style=plan9"}, Arguments{"iostat", "--style"}}) {
        Arguments arguments = given;
        EXPECT_FALSE(take_style(arguments));
        EXPECT_EQ(arguments, given);
    }
}

TEST(FreebsdOptions, PlainIsOneReportOfEverything) {
    const Options options = understood({});
    EXPECT_TRUE(options.cpu && options.tty);
    EXPECT_EQ(options.count, 1);
    EXPECT_EQ(options.devices_max, 3);
}

TEST(FreebsdOptions, DevicesOnlyUnlessTheOthersAreAskedFor) {
    EXPECT_FALSE(understood({"-d"}).cpu || understood({"-d"}).tty);
    EXPECT_FALSE(understood({"-x"}).cpu || understood({"-x"}).tty);
    EXPECT_TRUE(understood({"-dC"}).cpu);
    EXPECT_FALSE(understood({"-dC"}).tty);
    EXPECT_TRUE(understood({"-xT"}).tty);
}

TEST(FreebsdOptions, AsManyDevicesAsFit) {
    EXPECT_EQ(understood({"-d"}).devices_max, 4);
    EXPECT_EQ(understood({"-dC"}).devices_max, 3);
    EXPECT_EQ(understood({"-o"}).devices_max, 4);
    EXPECT_EQ(understood({"-od"}).devices_max, 5);
    EXPECT_EQ(understood({"-odC"}).devices_max, 4);
    EXPECT_GT(understood({"-x"}).devices_max, 1'000'000);
    EXPECT_EQ(understood({"-n", "7"}).devices_max, 7);
    EXPECT_EQ(understood({"-n", "0"}).devices_max, 0);
    EXPECT_EQ(understood({"a", "b", "c", "d", "e"}).devices_max, 5);
    EXPECT_EQ(understood({"-n", "2", "a", "b", "c"}).devices_max, 2);
}

TEST(FreebsdOptions, WithoutACountAnIntervalHasNoEnd) {
    EXPECT_FALSE(understood({"-w", "2"}).count);
    EXPECT_EQ(understood({"-w", "2", "-c", "3"}).count, 3);
    EXPECT_EQ(understood({"-c", "3"}).wait, std::chrono::seconds(1));
}

TEST(FreebsdOptions, AnIntervalMayBeAFractionDownToAMillisecond) {
    EXPECT_EQ(understood({"-w", "0.5"}).wait, std::chrono::milliseconds(500));
    EXPECT_EQ(understood({"-w", "1.2345"}).wait, std::chrono::milliseconds(1234));
    EXPECT_EQ(understood({"-w", "0.001"}).wait, std::chrono::milliseconds(1));
    for (const char* wrong : {"0", "0.0009", "-1", "x", "1s", "nan", "1e99"}) {
        EXPECT_NE(refused({"-w", wrong}).find("invalid wait"), std::string::npos) << wrong;
    }
}

TEST(FreebsdOptions, DrivesMayBeFollowedByAnIntervalAndACount) {
    const Options options = understood({"nbd0", "nbd1", "2", "5"});
    EXPECT_EQ(options.drives, (Arguments{"nbd0", "nbd1"}));
    EXPECT_EQ(options.wait, std::chrono::seconds(2));
    EXPECT_EQ(options.count, 5);
    EXPECT_FALSE(understood({"2"}).count);
    EXPECT_EQ(options.warnings, "");
    EXPECT_NE(refused({"1", "2", "3"}).find("unexpected operand '3'"), std::string::npos);
}

TEST(FreebsdOptions, TheOldFormBeatsTheNewAndSaysSo) {
    const Options options = understood({"-w", "9", "-c", "9", "2", "5"});
    EXPECT_EQ(options.wait, std::chrono::seconds(2));
    EXPECT_EQ(options.count, 5);
    EXPECT_EQ(options.warnings,
              "iostat: the wait interval 2 replaces that of -w\n"
              "iostat: the count 5 replaces that of -c\n");
}

TEST(FreebsdOptions, TheNameOfAKernelIsIgnored) {
    EXPECT_EQ(understood({"-N", "kernel", "-d", "nbd0"}).drives, (Arguments{"nbd0"}));
}

TEST(FreebsdOptions, WhatIsNotUnderstoodIsRefused) {
    EXPECT_NE(refused({"-y"}).find("unknown option -y"), std::string::npos);
    EXPECT_NE(refused({"--must-exsit"}).find("the nearest is '--must-exist'\n"), std::string::npos);
    EXPECT_NE(refused({"nbd0", "-x"}).find("option -x is behind the operands"), std::string::npos);
    EXPECT_NE(refused({"-c", "0"}).find("invalid count"), std::string::npos);
    EXPECT_NE(refused({"-n", "x"}).find("invalid number of devices"), std::string::npos);
    EXPECT_NE(refused({"-M", "core"}).find("no kernel memory"), std::string::npos);
    EXPECT_NE(refused({"-w"}).find("no value for -w"), std::string::npos);
    EXPECT_TRUE(std::holds_alternative<Help>(parse({"--help"})));
}

}  // namespace
}  // namespace blkscope::iostat::freebsd
