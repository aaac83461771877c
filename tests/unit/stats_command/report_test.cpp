// The output and the command line of blkscope stats.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "looks.hpp"
#include "tools/stats/json.hpp"
#include "tools/stats/options.hpp"
#include "tools/stats/table.hpp"

namespace blkscope::stats_command {
namespace {

TEST(StatsTable, HasTwoLinesForEachVariableWithAHistogram) {
    EXPECT_EQ(table(a_device()),
              "nbd0               count    mean     min     p50     p90     p99   p99.9     max\n"
              "read_service          10   1.5us   900ns 1.234us     2us     2ms   2.5ms   2.5ms\n"
              "  histogram          100   2.5us       - 1.999us 1.999us 3.999us 3.999us 3.999us\n"
              "size                   0       -       -       -       -       -       -       -\n"
              "  histogram            2       -       -      3B      3B      3B      3B      3B\n"
              "depth                  2     1.5       1       1       -       -       -       2\n");
}

TEST(StatsTable, SaysOfADeviceWithTroubleWhatItIs) {
    const Device device{.name = "nbd3", .trouble = "not a blob of stats(3)"};
    EXPECT_EQ(table(device), "nbd3: not a blob of stats(3)\n");
}

TEST(StatsJson, IsOneLineWithUnitsInItsKeysAndNullForWhatIsNotKnown) {
    const std::string text = json({a_device()}, 1'800'000'000);
    EXPECT_EQ(std::ranges::count(text, '\n'), 1);
    const auto report = nlohmann::json::parse(text);
    EXPECT_EQ(report["schema"], "blockdev.stats/1");
    EXPECT_EQ(report["ts"], 1'800'000'000);
    const auto& device = report["devices"][0];
    EXPECT_EQ(device["device"], "nbd0");
    EXPECT_EQ(device["snaptime_ns"], 42);
    EXPECT_TRUE(device["error"].is_null());
    const auto& service = device["variables"]["read_service"];
    EXPECT_EQ(service["digest"]["count"], 10);
    EXPECT_EQ(service["digest"]["p99_9_ns"], 2.5e6);
    EXPECT_TRUE(service["histogram"]["min_ns"].is_null());
    EXPECT_TRUE(device["variables"]["size"]["digest"]["p50_bytes"].is_null());
    EXPECT_EQ(device["variables"]["depth"]["digest"]["p50"], 1);
    EXPECT_TRUE(device["variables"]["depth"]["histogram"].is_null());
}

TEST(StatsJson, SaysWhatIsWrongWithADevice) {
    const Device device{.name = "nbd3", .trouble = "not a blob of stats(3)"};
    const auto report = nlohmann::json::parse(json({device}, 0));
    EXPECT_EQ(report["devices"][0]["error"], "not a blob of stats(3)");
    EXPECT_TRUE(report["devices"][0]["variables"].empty());
}

TEST(StatsOptions, AreDevicesAndTheForm) {
    CLI::App app;
    Options options;
    add_command(app, options);
    app.parse("stats --json nbd0 nbd7");
    EXPECT_TRUE(options.json);
    EXPECT_EQ(options.devices, (std::vector<std::string>{"nbd0", "nbd7"}));
}

}  // namespace
}  // namespace blkscope::stats_command
