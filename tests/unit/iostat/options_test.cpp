#include "tools/iostat/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace blkscope::iostat {
namespace {

using Words = std::vector<std::string>;

std::variant<Options, Help, Refusal> parse(Words words) {
    words.insert(words.begin(), "iostat");
    return parse_options(std::move(words));
}

Options accepted(const Words& words) {
    const auto parsed = parse(words);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) ADD_FAILURE() << refusal->text;
    return std::holds_alternative<Options>(parsed) ? std::get<Options>(parsed) : Options{};
}

Refusal refused(const Words& words) {
    const auto parsed = parse(words);
    const auto* refusal = std::get_if<Refusal>(&parsed);
    EXPECT_NE(refusal, nullptr);
    return refusal != nullptr ? *refusal : Refusal{};
}

TEST(IostatOptions, ShortOptionsMayBeGrouped) {
    const Options options = accepted({"-xnz"});
    EXPECT_EQ(options.mode, Mode::extended);
    EXPECT_TRUE(options.names_last);
    EXPECT_TRUE(options.idle_hidden);
}

TEST(IostatOptions, EachFlagIsTakenForItself) {
    EXPECT_TRUE(accepted({"-I"}).counts);
    EXPECT_TRUE(accepted({"-M"}).megabytes);
    EXPECT_TRUE(accepted({"-r"}).comma_separated);
    EXPECT_TRUE(accepted({"-s"}).changes_silent);
    EXPECT_TRUE(accepted({"-p"}).partitions);
    EXPECT_TRUE(accepted({"-p"}).disks);
    EXPECT_TRUE(accepted({"-P"}).partitions);
    EXPECT_FALSE(accepted({"-P"}).disks);
    EXPECT_EQ(accepted({"-D"}).mode, Mode::rates);
    EXPECT_EQ(accepted({"-l", "7"}).limit, 7);
    EXPECT_TRUE(accepted({"-Ei"}).device_ids);
    EXPECT_TRUE(accepted({"-xnm"}).mount_points);
    EXPECT_TRUE(accepted({"-u"}).microseconds);
}

TEST(IostatOptions, WithoutAnyThereIsOneReportOnTransfers) {
    const Options options = accepted({});
    EXPECT_EQ(options.mode, Mode::transfers);
    EXPECT_FALSE(options.interval_s.has_value());
    EXPECT_FALSE(options.count.has_value());
    EXPECT_FALSE(options.counts || options.megabytes || options.comma_separated ||
                 options.idle_hidden || options.names_last || options.changes_silent);
}

TEST(IostatOptions, ExtendedBeatsTheHorizontalModesWhicheverComesFirst) {
    EXPECT_EQ(accepted({"-xd"}).mode, Mode::extended);
    EXPECT_EQ(accepted({"-Dx"}).mode, Mode::extended);
}

TEST(IostatOptions, TablesOfHistogramsAreAClassOfTheirOwn) {
    for (const char* letters : {"-w", "-L", "-wL"}) {
        const Options options = accepted({letters});
        EXPECT_EQ(options.mode, Mode::none);
        EXPECT_FALSE(options.cpu || options.tty);
        EXPECT_TRUE(options.vertical() && options.devices_wanted() && options.histograms_wanted());
    }
    EXPECT_EQ(accepted({"-xw"}).mode, Mode::extended);
    EXPECT_EQ(accepted({"-xdw"}).mode, Mode::extended);
    EXPECT_EQ(accepted({"-w", "sd0"}).devices, Words{"sd0"});
    EXPECT_FALSE(accepted({"-x"}).histograms_wanted());
}

TEST(IostatOptions, PercentilesMeanTheExtendedReport) {
    EXPECT_EQ(accepted({"-q"}).mode, Mode::extended);
    EXPECT_EQ(accepted({"-qd"}).mode, Mode::extended);
    EXPECT_TRUE(accepted({"-xnq"}).histograms_wanted());
}

TEST(IostatOptions, TablesHaveNoPlaceBesideDevicesSideBySide) {
    EXPECT_EQ(refused({"-dw"}).text, "-d and -w are incompatible.\n" + usage_text());
    EXPECT_EQ(refused({"-LD"}).text, "-D and -L are incompatible.\n" + usage_text());
    EXPECT_EQ(refused({"-dwL"}).status, 1);
    EXPECT_TRUE(accepted({"-dwj"}).json);  // with -j, all data whatever the classes
}

TEST(IostatOptions, TransfersAndRatesAreIncompatible) {
    for (const char* both : {"-dD", "-Dd", "-dxD"}) {
        EXPECT_EQ(refused({both}).status, 1);
        EXPECT_EQ(refused({both}).text, "-d and -D are incompatible.\n" + usage_text());
    }
}

TEST(IostatOptions, LeadingOperandsThatDoNotStartWithADigitAreDevices) {
    const Options options = accepted({"-x", "sd0", "nbd1", "5", "3"});
    EXPECT_EQ(options.devices, (Words{"sd0", "nbd1"}));
    EXPECT_EQ(options.interval_s, 5);
    EXPECT_EQ(options.count, 3);
}

TEST(IostatOptions, NoOptionIsTakenBehindTheFirstOperand) {
    EXPECT_EQ(refused({"sd0", "-x"}).status, 2);
    EXPECT_EQ(refused({"sd0", "-x"}).text,
              "iostat: option -x is behind the operands; options come first\n");
    EXPECT_EQ(refused({"-x", "sd0", "1", "2", "-z"}).status, 2);
    EXPECT_EQ(accepted({"-x", "--", "-sd0"}).devices, Words{"-sd0"});
    EXPECT_TRUE(accepted({"sd0", "--must-exist"}).must_exist);
    EXPECT_TRUE(accepted({"-xn", "--clients", "sd0"}).clients);
    EXPECT_FALSE(accepted({"-xn", "sd0"}).clients);
}

TEST(IostatOptions, AMisspeltLongOptionNamesTheNearest) {
    EXPECT_EQ(refused({"--must-exsit"}).status, 1);
    EXPECT_EQ(refused({"--must-exsit"}).text,
              "iostat: there is no option '--must-exsit'; the nearest is '--must-exist'\n" +
                  usage_text());
    EXPECT_EQ(refused({"-x", "sd0", "--must-exits"}).text,
              "iostat: there is no option '--must-exits'; the nearest is '--must-exist'\n");
    EXPECT_EQ(refused({"--style", "linux"}).text,
              "iostat: wrong value for option '--style'\n" + usage_text());
}

TEST(IostatOptions, AnEmptyOperandIsADeviceThatDoesNotExist) {
    EXPECT_EQ(accepted({"", "1"}).devices, Words{""});
}

std::string invalid_interval(const std::string& word) {
    return "iostat: invalid interval " + word +
           "; an interval is a whole number of seconds, 1 or more\n";
}

TEST(IostatOptions, AnIntervalIsADecimalFromOne) {
    for (const char* bad : {"0", "0.2", "1.5", "5s", "99999999999", "0x10"}) {
        EXPECT_EQ(refused({bad}).status, 2);
        EXPECT_EQ(refused({bad}).text, invalid_interval(bad));
    }
}

TEST(IostatOptions, ACountIsADecimalFromOne) {
    for (const char* bad : {"0", "2x", "-1"}) {
        EXPECT_EQ(refused({"1", bad}).status, 2);
        EXPECT_EQ(refused({"1", bad}).text, std::string("iostat: invalid count ") + bad +
                                                "; it is a whole number, 1 or more\n");
    }
    EXPECT_EQ(refused({"1", "sd0"}).status, 2);
    EXPECT_EQ(refused({"1", "sd0"}).text,
              "iostat: invalid count sd0; disks come before the numbers, as in 'iostat -xn nbd0 "
              "1'\n");
}

TEST(IostatOptions, MoreOperandsThanACountAreWrongUsage) {
    EXPECT_EQ(refused({"1", "2", "3"}).status, 1);
    EXPECT_EQ(
        refused({"1", "2", "3"}).text,
        "iostat: '3' is one word too many behind the interval and the count\n" + usage_text());
}

TEST(IostatOptions, ALimitIsAnInteger) {
    for (const char* bad : {"x", "2x", "", "1.5"}) {
        EXPECT_EQ(refused({"-l", bad}).status, 2);
        EXPECT_EQ(refused({"-l", bad}).text, std::string("iostat: invalid limit ") + bad +
                                                 "; it is a whole number, 1 or more\n");
    }
}

TEST(IostatOptions, ALimitBelowOneIsWrongUsage) {
    for (const char* bad : {"0", "-3"}) {
        EXPECT_EQ(refused({"-l", bad}).status, 1);
        EXPECT_EQ(refused({"-l", bad}).text,
                  std::string("iostat: the limit is a whole number, 1 or more, not ") + bad + "\n" +
                      usage_text());
    }
}

TEST(IostatOptions, OnlyTheFirstLetterOfAStampCounts) {
    EXPECT_EQ(accepted({"-T", "u"}).stamp, Stamp::epoch);
    EXPECT_EQ(accepted({"-Tdate"}).stamp, Stamp::date);
    EXPECT_EQ(refused({"-T", "x"}).status, 1);
    EXPECT_EQ(refused({"-T", ""}).status, 1);
}

TEST(IostatOptions, WithoutAClassTheyAreTerminalsTransfersAndProcessors) {
    for (const char* none : {"-n", "-I", "-j"}) {
        EXPECT_EQ(accepted({none}).mode, Mode::transfers) << none;
        EXPECT_TRUE(accepted({none}).tty && accepted({none}).cpu) << none;
    }
}

TEST(IostatOptions, AnyClassReplacesTheDefault) {
    EXPECT_EQ(accepted({"-c"}).mode, Mode::none);
    EXPECT_TRUE(accepted({"-c"}).cpu);
    EXPECT_FALSE(accepted({"-c"}).tty);
    EXPECT_TRUE(accepted({"-t"}).tty);
    EXPECT_FALSE(accepted({"-t"}).cpu);
    for (const char* disks : {"-d", "-D", "-x", "-e", "-E", "-X"}) {
        EXPECT_FALSE(accepted({disks}).cpu || accepted({disks}).tty) << disks;
    }
    EXPECT_EQ(accepted({"-e"}).mode, Mode::none);
    EXPECT_TRUE(accepted({"-e"}).errors);
    EXPECT_TRUE(accepted({"-E"}).listing);
}

TEST(IostatOptions, HorizontalModesBeatTheErrorsUnlessExtendedBeatsThem) {
    for (const char* both : {"-de", "-DE", "-dEe"}) {
        EXPECT_FALSE(accepted({both}).errors || accepted({both}).listing) << both;
        EXPECT_FALSE(accepted({both}).vertical()) << both;
    }
    EXPECT_EQ(accepted({"-xde"}).mode, Mode::extended);
    EXPECT_TRUE(accepted({"-xde"}).errors);
}

TEST(IostatOptions, PathsImplyTheExtendedReportWhereThereIsNoVerticalOne) {
    EXPECT_EQ(accepted({"-X"}).mode, Mode::extended);
    EXPECT_EQ(accepted({"-X"}).paths, Paths::by_initiator);
    EXPECT_EQ(accepted({"-Yc"}).mode, Mode::extended);
    EXPECT_EQ(accepted({"-Y"}).paths, Paths::by_target);
    EXPECT_EQ(accepted({"-Xe"}).mode, Mode::none);
    EXPECT_EQ(accepted({"-XE"}).mode, Mode::none);
    EXPECT_EQ(refused({"-XY"}).status, 1);
    EXPECT_EQ(refused({"-YX"}).text, "-X and -Y are incompatible.\n" + usage_text());
}

TEST(IostatOptions, ControllersNeedColumnsOfTheirOwn) {
    EXPECT_TRUE(accepted({"-xC"}).controllers);
    EXPECT_TRUE(accepted({"-Ce"}).controllers);
    EXPECT_TRUE(accepted({"-CX"}).controllers);
    for (const char* bad : {"-C", "-Cd", "-Cde", "-CE", "-xCE", "-CeE", "-Cc"}) {
        EXPECT_EQ(refused({bad}).status, 2) << bad;
        EXPECT_EQ(refused({bad}).text, "iostat: -C can only be used with -e or -x.\n") << bad;
    }
}

TEST(IostatOptions, WithoutDevicesEveryOperandIsANumber) {
    EXPECT_EQ(refused({"-c", "sd0"}).text, invalid_interval("sd0"));
    EXPECT_EQ(refused({"-ct", "sd0"}).status, 2);
    EXPECT_EQ(accepted({"-c", "3"}).interval_s, 3);
    EXPECT_EQ(accepted({"-ce", "sd0"}).devices, Words{"sd0"});
    EXPECT_EQ(accepted({"sd0"}).devices, Words{"sd0"});
}

TEST(IostatOptions, WhatIsAboutIntervalsNeedsOne) {
    EXPECT_TRUE(accepted({"-y", "1"}).first_skipped);
    EXPECT_TRUE(accepted({"-S", "sd0", "1", "2"}).summary);
    EXPECT_EQ(refused({"-y"}).status, 1);
    EXPECT_EQ(refused({"-y"}).text, "iostat: -y needs an interval.\n" + usage_text());
    EXPECT_EQ(refused({"-xS", "sd0"}).text, "iostat: -S needs an interval.\n" + usage_text());
}

TEST(IostatOptions, JsonIsNotCommaSeparated) {
    EXPECT_TRUE(accepted({"-j"}).json);
    EXPECT_TRUE(accepted({"-j"}).vertical());
    EXPECT_EQ(refused({"-jr"}).status, 1);
    EXPECT_EQ(refused({"-rxj"}).text, "-j and -r are incompatible.\n" + usage_text());
}

TEST(IostatOptions, UnknownOptionsAndMissingArgumentsAreWrongUsage) {
    EXPECT_EQ(refused({"-xk"}).status, 1);
    EXPECT_EQ(refused({"-xk"}).text, "iostat: illegal option -- k\n" + usage_text());
    EXPECT_EQ(refused({"-T"}).text, "iostat: option requires an argument -- T\n" + usage_text());
}

TEST(IostatOptions, HelpIsOneScreenNoWiderThanATerminal) {
    EXPECT_TRUE(std::holds_alternative<Help>(parse({"--help"})));
    EXPECT_TRUE(std::holds_alternative<Help>(parse({"-xh"})));
    const std::string text = help_text();
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 50);
    size_t start = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
        EXPECT_LE(end - start, 80u);
        start = end + 1;
    }
}

}  // namespace
}  // namespace blkscope::iostat
