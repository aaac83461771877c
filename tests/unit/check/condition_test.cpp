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

TEST(CheckCondition, BytesHaveUnitsOf1024) {
    for (const char* bound : {"1536", "1536B", "1.5K", "1.5KiB", "1.5 K/s", "1.5KiB/s", "1536/s"}) {
        EXPECT_EQ(parse_condition(std::string("bps(a) > ") + bound).bound, 1536) << bound;
    }
    EXPECT_EQ(parse_condition("bps(a) > 2M").bound, 2 << 20);
    EXPECT_EQ(parse_condition("bps(a) > 1T").bound, 1'099'511'627'776.0);
}

TEST(CheckCondition, TheTailHasItsPercentiles) {
    EXPECT_EQ(parse_condition("p95(a) < 1s").figure, Figure::p95);
    EXPECT_EQ(parse_condition("p99.99(a) < 1s").figure, Figure::p9999);
    EXPECT_EQ(parse_condition("iops(a) < 1").figure, Figure::rate);
    EXPECT_EQ(parse_condition("late(nbd0) < 1ms").bound, 1e6);
}

TEST(CheckCondition, AWordBehindTheDeviceIsExplained) {
    const auto mistake = [](const char* condition) {
        return word_mistake(parse_condition(condition),
                            [](const std::string& name) { return name == "nbd0" || name == "a.b"; })
            .value_or("");
    };
    EXPECT_EQ(mistake("count(nbd0.reads) > 1"), "no such operation reads; did you mean read?");
    EXPECT_EQ(mistake("p50(nbd0.writes.wait) < 1s"),
              "no such operation writes; did you mean write?");
    EXPECT_EQ(mistake("p50(nbd0.read.servce) < 1s"), "no such phase servce; did you mean service?");
    EXPECT_EQ(mistake("count(nbd0.discard) > 1"),
              "no such operation discard; there are read, write, flush, trim, write_zeroes");
    EXPECT_EQ(mistake("p50(nbd0.wait.read) < 1s"), "the order is DEVICE.OPERATION.PHASE");
    EXPECT_EQ(mistake("count(a.b) > 1"), "");
    EXPECT_EQ(mistake("count(a.b.read) > 1"), "");
    EXPECT_EQ(mistake("count(nbd7.reads) > 1"), "");
    EXPECT_EQ(mistake("count(nbd7) > 1"), "");
}

TEST(CheckCondition, AMistakeIsNamedInOneLine) {
    const std::vector<std::pair<std::string, std::string>> all{
        {"", "it is empty"},
        {"< 5",
         "it begins with no figure; there are mean, p50, p90, p95, p99, p99.9, p99.99, max, late"},
        {"p98(nbd0) < 5ms", "there is no figure p98; the nearest is p9"},
        {"qqqqqqqq(nbd0) < 5ms", "there is no figure qqqqqqqq; there are mean, p50"},
        {"p99 nbd0 < 5ms", "there is no '(' behind p99"},
        {"p99(nbd0 < 5ms", "there is no ')' behind the device"},
        {"p99() < 5ms", "there is no device in the brackets"},
        {"p99(.read) < 5ms", "there is no device in the brackets"},
        {"count(nbd0.read.wait) < 5", "count has no phase; leave .wait out"},
        {"late(nbd0.read) < 5ms", "late is of all operations together; leave .read out"},
        {"late(nbd0.service) < 5ms", "late has no phase; leave .service out"},
        {"late(nbd0) < 5", "the bound of a time has a unit: ns, us, ms or s"},
        {"bps(nbd0.flush) > 1", "bps is of reads and writes; leave .flush out"},
        {"bps(nbd0) > 1MB", "the bound of bps has no unit but K, M, G or T"},
        {"bps(nbd0) > 1ms", "the bound of bps has no unit but K, M, G or T"},
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
