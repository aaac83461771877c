#include "tools/check/condition.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "../failure.hpp"

namespace blkscope::check {
namespace {

std::string refusal_of(const std::string& text) {
    return failure_of([&] { return parse_condition(text); });
}

TEST(CheckCondition, HasEachPart) {
    const Condition condition = parse_condition("  p99.9 ( nbd*.read.service )  <= 4.5ms ");
    EXPECT_EQ(condition.text, "p99.9 ( nbd*.read.service )  <= 4.5ms");
    EXPECT_EQ(condition.figure, Figure::p999);
    EXPECT_EQ(condition.devices, "nbd*");
    EXPECT_EQ(condition.operation, "read");
    EXPECT_EQ(condition.phase, "service");
    EXPECT_EQ(condition.comparison, Comparison::at_most);
    EXPECT_EQ(condition.bound, 4'500'000);
}

TEST(CheckCondition, WithoutAnOperationOrAPhaseItIsTheTotalOfReadsAndWrites) {
    const Condition time = parse_condition("mean(nbd0)<1s");
    EXPECT_EQ(time.operation, "");
    EXPECT_EQ(time.phase, "total");
    const Condition count = parse_condition("errors(nbd0.trim)==0");
    EXPECT_EQ(count.operation, "trim");
    EXPECT_EQ(count.phase, "");
}

TEST(CheckCondition, ADeviceMayHaveDotsAndCommas) {
    EXPECT_EQ(parse_condition("max(a.b,c.d.write_zeroes) < 1ns").devices, "a.b,c.d");
    EXPECT_EQ(parse_condition("max(a.b,c.d.write_zeroes) < 1ns").operation, "write_zeroes");
    EXPECT_EQ(parse_condition("max(total) < 1ns").devices, "total");
    EXPECT_EQ(parse_condition("max(read.read) < 1ns").devices, "read");
}

TEST(CheckCondition, EachComparisonIsItsOwn) {
    using enum Comparison;
    const std::vector<std::pair<const char*, Comparison>> all{{"<", less},   {"<=", at_most},
                                                              {">", more},   {">=", at_least},
                                                              {"==", equal}, {"!=", different}};
    for (const auto& [text, comparison] : all) {
        EXPECT_EQ(parse_condition(std::string("count(nbd0)") + text + "7").comparison, comparison);
    }
}

TEST(CheckCondition, EachFigureHasItsUnit) {
    EXPECT_EQ(parse_condition("max(a) < 7ns").bound, 7);
    EXPECT_EQ(parse_condition("max(a) < 0.1us").bound, 100);
    EXPECT_EQ(parse_condition("max(a) < 4.35 ms").bound, 4'350'000);
    EXPECT_EQ(parse_condition("max(a) < 2s").bound, 2e9);
    EXPECT_EQ(parse_condition("busy(a) < 99.5%").bound, 99.5);
    EXPECT_EQ(parse_condition("rate(a) > 100/s").bound, 100);
    EXPECT_EQ(parse_condition("rate(a) > 100").bound, 100);
    EXPECT_EQ(parse_condition("actv(a) < 1.5").bound, 1.5);
}

TEST(CheckCondition, AMistakeIsNamedInOneLine) {
    const std::vector<std::pair<std::string, std::string>> all{
        {"", "it is empty"},
        {"< 5", "it begins with no figure; there are mean, p50, p90, p99, p99.9, max, count"},
        {"p98(nbd0) < 5ms", "there is no figure p98; the nearest is p9"},
        {"qqqqqqqq(nbd0) < 5ms", "there is no figure qqqqqqqq; there are mean, p50"},
        {"p99 nbd0 < 5ms", "there is no '(' behind p99"},
        {"p99(nbd0 < 5ms", "there is no ')' behind the device"},
        {"p99() < 5ms", "there is no device in the brackets"},
        {"p99(.read) < 5ms", "there is no device in the brackets"},
        {"count(nbd0.read.wait) < 5", "count has no phase; leave .wait out"},
        {"busy(nbd0.read) < 5%", "busy is of reads and writes together; leave .read out"},
        {"p99(nbd0) = 5ms", "behind ')' must be one of < <= > >= == !="},
        {"p99(nbd0)", "behind ')' must be one of < <= > >= == !="},
        {"p99(nbd0) <", "the bound must be a number"},
        {"p99(nbd0) < -5ms", "the bound must be a number"},
        {"p99(nbd0) < nan", "the bound must be a number"},
        {"p99(nbd0) < 5", "the bound of a time has a unit: ns, us, ms or s"},
        {"p99(nbd0) < 5e3ms", "the bound of a time has a unit: ns, us, ms or s"},
        {"p99(nbd0) < 5ms or so", "the bound of a time has a unit: ns, us, ms or s"},
        {"busy(nbd0) < 5", "the bound of busy has the unit %"},
        {"count(nbd0) < 5ms", "the bound of count has no unit"},
        {"rate(nbd0) < 5ms", "the bound of rate has no unit but /s"},
        {"count(nbd0) < 99999999999999999999", "the bound is too large"},
        {"max(nbd0) < 10000000s", "the bound is too large"},
        {std::string(2000, 'x'), "it is too long"}};
    for (const auto& [text, why] : all) {
        const std::string refusal = refusal_of(text);
        EXPECT_NE(refusal.find(": " + why), std::string::npos) << text << ": " << refusal;
        EXPECT_LT(refusal.size(), 300u) << refusal;
    }
}

TEST(CheckCondition, WhatIsNotPrintableIsEscapedInTheMessage) {
    EXPECT_EQ(refusal_of("p99(\n\x1b[2J) < 5").find_first_of("\n\x1b"), std::string::npos);
}

}  // namespace
}  // namespace blkscope::check
