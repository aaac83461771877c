#include "tools/gstat/options.hpp"

#include <gtest/gtest.h>

namespace blkscope::gstat {
namespace {

using std::chrono::microseconds;

std::variant<Options, Help, Refusal> parse(std::vector<std::string> arguments,
                                           bool to_terminal = true) {
    arguments.insert(arguments.begin(), "gstat");
    return parse_options(std::move(arguments), to_terminal);
}

Options understood(std::vector<std::string> arguments, bool to_terminal = true) {
    const auto parsed = parse(std::move(arguments), to_terminal);
    EXPECT_TRUE(std::holds_alternative<Options>(parsed));
    return std::holds_alternative<Options>(parsed) ? std::get<Options>(parsed) : Options{};
}

std::string refused(std::vector<std::string> arguments) {
    const auto parsed = parse(std::move(arguments));
    const auto* refusal = std::get_if<Refusal>(&parsed);
    return refusal != nullptr ? refusal->text : "not refused";
}

TEST(GstatOptions, OnATerminalTheScreenIsTheDefault) {
    EXPECT_FALSE(understood({}).batch);
    EXPECT_EQ(understood({}).interval, std::chrono::seconds(1));
}

TEST(GstatOptions, ElsewhereTheDefaultIsOneReport) {
    const Options options = understood({}, false);
    EXPECT_TRUE(options.batch && options.once);
    EXPECT_FALSE(understood({"-B"}, false).once);
    EXPECT_FALSE(understood({"-C"}, false).once);
}

TEST(GstatOptions, CsvIsABatchWithoutEnd) {
    const Options options = understood({"-C"});
    EXPECT_TRUE(options.csv && options.batch);
    EXPECT_FALSE(options.once);
    EXPECT_FALSE(understood({"-Cb"}).once);  // as on FreeBSD
    EXPECT_FALSE(understood({"-bC"}).once);
    EXPECT_FALSE(understood({"-bB"}).once);
    EXPECT_TRUE(understood({"-bB"}).batch);
}

TEST(GstatOptions, LettersMayBeGrouped) {
    const Options options = understood({"-abcdops"});
    EXPECT_TRUE(options.active_only && options.once && options.consumers && options.deletes);
    EXPECT_TRUE(options.others && options.physical_only && options.sizes);
}

TEST(GstatOptions, AnIntervalHasAUnit) {
    EXPECT_EQ(understood({"-I", "2s"}).interval, std::chrono::seconds(2));
    EXPECT_EQ(understood({"-I250ms"}).interval, std::chrono::milliseconds(250));
    EXPECT_EQ(understood({"-I", "500000us"}).interval, microseconds(500'000));
    EXPECT_EQ(understood({"-I", "500000"}).interval, microseconds(500'000));
    EXPECT_EQ(understood({"-I", "0.5s"}).interval, std::chrono::milliseconds(500));
    EXPECT_EQ(understood({"-I", "1.5s"}).interval, std::chrono::milliseconds(1500));
    EXPECT_EQ(understood({"-I", "0.07s"}).interval, microseconds(70'000));
    EXPECT_EQ(understood({"-I", ".25ms"}).interval, microseconds(250));
    EXPECT_EQ(understood({"-I", "2.9us"}).interval, microseconds(2));
    for (const char* wrong : {"0", "-1", "1m", "s", "", "1.5.5s", ".", "0.9us", "1e3s", "+1s",
                              "inf", "nan", "99999999999s"}) {
        EXPECT_NE(refused({"-I", wrong}).find("invalid interval"), std::string::npos) << wrong;
    }
}

TEST(GstatOptions, AFilterMustBeAnExpression) {
    EXPECT_EQ(understood({"-f", "^nbd"}).filter, "^nbd");
    EXPECT_NE(refused({"-f", "("}).find("invalid filter '('"), std::string::npos);
}

TEST(GstatOptions, WhatIsNotUnderstoodIsRefused) {
    EXPECT_NE(refused({"-x"}).find("usage: gstat"), std::string::npos);
    EXPECT_NE(refused({"nbd0"}).find("unexpected operand 'nbd0'"), std::string::npos);
    EXPECT_NE(refused({"--hepl"}).find("no option '--hepl'; the nearest is '--help'\n"),
              std::string::npos);
    EXPECT_NE(refused({"-I"}).find("usage: gstat"), std::string::npos);
    EXPECT_TRUE(std::holds_alternative<Help>(parse({"--help"})));
    EXPECT_TRUE(std::holds_alternative<Help>(parse({"-h"})));
}

}  // namespace
}  // namespace blkscope::gstat
