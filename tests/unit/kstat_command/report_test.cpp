#include "tools/kstat/report.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace blkscope::kstat_command {
namespace {

constexpr std::time_t now = 1'234'567'890;

Reading cpu(int instance, uint64_t intr) {
    return {.module = "cpu_stat",
            .instance = instance,
            .name = "cpu_stat" + std::to_string(instance),
            .kstat_class = "misc",
            .type = KSTAT_TYPE_RAW,
            .snaptime = 5'000'000'000,
            .statistics = {{"crtime", Moment{0}},
                           {"idle", uint64_t{7}},
                           {"intr", intr},
                           {"intrblk", uint64_t{21'604}},
                           {"intrthread", uint64_t{668'353'070}}}};
}

const std::vector<Reading> cpus{cpu(0, 878'951'000), cpu(1, 211'041'358)};

Options asking(Format format, const std::vector<const char*>& operands) {
    Options options;
    options.format = format;
    for (const char* operand : operands) options.selectors.push_back(parse_selector(operand));
    return options;
}

std::string report_of(const Options& options, const std::vector<Reading>& kstats = cpus) {
    return Reporter(options).report(kstats, now);
}

TEST(KstatReport, BlocksShowTheStatisticsThatMatch) {
    EXPECT_EQ(report_of(asking(Format::blocks, {"cpu_stat:::/^intr/"})),
              "module: cpu_stat                        instance: 0     \n"
              "name:   cpu_stat0                       class:    misc\n"
              "\tintr                            878951000\n"
              "\tintrblk                         21604\n"
              "\tintrthread                      668353070\n"
              "\n"
              "module: cpu_stat                        instance: 1     \n"
              "name:   cpu_stat1                       class:    misc\n"
              "\tintr                            211041358\n"
              "\tintrblk                         21604\n"
              "\tintrthread                      668353070\n"
              "\n");
}

TEST(KstatReport, LinesShowTheStatisticsThatMatch) {
    EXPECT_EQ(report_of(asking(Format::tabs, {"cpu_stat:::intr*"})),
              "cpu_stat:0:cpu_stat0:intr\t878951000\n"
              "cpu_stat:0:cpu_stat0:intrblk\t21604\n"
              "cpu_stat:0:cpu_stat0:intrthread\t668353070\n"
              "cpu_stat:1:cpu_stat1:intr\t211041358\n"
              "cpu_stat:1:cpu_stat1:intrblk\t21604\n"
              "cpu_stat:1:cpu_stat1:intrthread\t668353070\n");
}

TEST(KstatReport, SelectorsTakeTurnsAndMayShowAKstatTwice) {
    EXPECT_EQ(report_of(asking(Format::names, {":1::intr", ":::intr", ":0::idle"})),
              "cpu_stat:1:cpu_stat1:intr\n"
              "cpu_stat:0:cpu_stat0:intr\n"
              "cpu_stat:1:cpu_stat1:intr\n"
              "cpu_stat:0:cpu_stat0:idle\n");
}

TEST(KstatReport, AKstatWithoutAStatisticThatMatchesIsNotShown) {
    EXPECT_EQ(report_of(asking(Format::blocks, {":::none"})), "");
    EXPECT_EQ(report_of(asking(Format::json, {":::none"})), "[]\n");
}

TEST(KstatReport, SomethingMatchedOnceItDidInAnyReport) {
    const Options options = asking(Format::blocks, {":::intr"});
    Reporter reporter(options);
    EXPECT_EQ(reporter.report({}, now), "");
    EXPECT_FALSE(reporter.matched());
    EXPECT_NE(reporter.report(cpus, now), "");
    EXPECT_EQ(reporter.report({}, now), "");
    EXPECT_TRUE(reporter.matched());
}

TEST(KstatReport, QuietlyItOnlyFindsOut) {
    Options options = asking(Format::blocks, {":::intr"});
    options.quiet = true;
    Reporter reporter(options);
    EXPECT_EQ(reporter.report(cpus, now), "");
    EXPECT_TRUE(reporter.matched());
    options.stamp = Stamp::epoch;
    EXPECT_EQ(reporter.report(cpus, now), "1234567890\n");
}

TEST(KstatReport, AStampStandsInFront) {
    Options options = asking(Format::names, {":0::intr"});
    options.stamp = Stamp::epoch;
    EXPECT_EQ(report_of(options), "1234567890\ncpu_stat:0:cpu_stat0:intr\n");
    EXPECT_EQ(report_of(options, {}), "1234567890\n");
}

TEST(KstatReport, JsonIsOneArrayEachTime) {
    const Options options = asking(Format::json, {":::intr"});
    Reporter reporter(options);
    const std::string first = reporter.report(cpus, now);
    EXPECT_EQ(first, reporter.report(cpus, now));
    EXPECT_TRUE(first.starts_with("[{\n\t\"module\"")) << first;
    EXPECT_NE(first.find("\n\t}\n}, {\n"), std::string::npos) << first;
    EXPECT_TRUE(first.ends_with("\n\t}\n}]\n")) << first;
    const auto parsed = nlohmann::json::parse(first);
    ASSERT_EQ(parsed.size(), 2u);
    EXPECT_EQ(parsed[1]["name"], "cpu_stat1");
    EXPECT_EQ(parsed[1]["data"], (nlohmann::json{{"intr", 211'041'358}}));
    EXPECT_EQ(parsed[0]["snaptime"], 5.0);
    EXPECT_FALSE(parsed[0].contains("time"));
}

TEST(KstatReport, AStampInJsonIsAMember) {
    setenv("TZ", "UTC", 1);
    Options options = asking(Format::json, {":0::intr"});
    options.stamp = Stamp::epoch;
    EXPECT_EQ(nlohmann::json::parse(report_of(options))[0]["time"], now);
    options.stamp = Stamp::date;
    EXPECT_EQ(nlohmann::json::parse(report_of(options))[0]["time"], "Fri Feb 13 23:31:30 UTC 2009");
}

}  // namespace
}  // namespace blkscope::kstat_command
