#include "tools/top/options.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace blkscope::top {
namespace {

// The options that a command line gives; throws the exceptions of CLI11.
Options parse(std::vector<std::string> words) {
    CLI::App app;
    Options options;
    add_command(app, options);
    words.insert(words.begin(), "top");
    std::reverse(words.begin(), words.end());  // the order that CLI11 expects
    app.parse(words);
    return options;
}

TEST(TopOptions, WithoutAnyItLooksEverySecondAtAllDevicesForEver) {
    const Options options = parse({});
    EXPECT_EQ(options.interval_ns(), 1'000'000'000);
    EXPECT_FALSE(options.count);
    EXPECT_TRUE(options.devices.empty());
    EXPECT_TRUE(options.color);
    EXPECT_FALSE(options.batch);
}

TEST(TopOptions, TheIntervalMayBeAFractionAndACountMayFollow) {
    const Options options = parse({"0.25", "8"});
    EXPECT_EQ(options.interval_ns(), 250'000'000);
    EXPECT_EQ(options.count, 8u);
}

TEST(TopOptions, DevicesAddUpAndDoNotEatTheInterval) {
    const Options options = parse({"--device", "nbd0", "2", "--device", "nbd7"});
    EXPECT_EQ(options.devices, (std::vector<std::string>{"nbd0", "nbd7"}));
    EXPECT_EQ(options.interval_ns(), 2'000'000'000);
}

TEST(TopOptions, OperandsAreDevicesAndThenNumbersAsInIostat) {
    const Options options = parse({"nbd0", "nbd1@4711", "0.5", "10"});
    EXPECT_EQ(options.devices, (std::vector<std::string>{"nbd0", "nbd1@4711"}));
    EXPECT_EQ(options.interval_ns(), 500'000'000);
    EXPECT_EQ(options.count, 10u);
    EXPECT_EQ(parse({"nbd0"}).devices, (std::vector<std::string>{"nbd0"}));
    EXPECT_EQ(parse({"--device", "nbd1", "nbd0"}).devices.size(), 2u);
    try {
        static_cast<void>(parse({"1", "nbd0"}));
        FAIL() << "a device behind a number";
    } catch (const CLI::ParseError& error) {
        EXPECT_STREQ(error.what(),
                     "'nbd0' is behind a number; devices come first, as in nbd0 1 10");
    }
}

TEST(TopOptions, BatchHasTwoNames) {
    EXPECT_TRUE(parse({"-b"}).batch);
    EXPECT_TRUE(parse({"--batch", "--no-color"}).batch);
    EXPECT_FALSE(parse({"--batch", "--no-color"}).color);
}

TEST(TopOptions, WhatIsNoIntervalOrCountIsRefused) {
    for (const char* interval : {"0", "-1", "0.05", "4000", "1x"}) {
        EXPECT_THROW(static_cast<void>(parse({interval})), CLI::ParseError) << interval;
    }
    for (const char* count : {"0", "-1", "1.5", "x"}) {
        EXPECT_THROW(static_cast<void>(parse({"1", count})), CLI::ParseError) << count;
    }
    EXPECT_THROW(static_cast<void>(parse({"1", "2", "3"})), CLI::ParseError);
}

TEST(TopOptions, ColorsAreAllowedUnlessNoColorSaysSomething) {
    EXPECT_TRUE(color_allowed(nullptr));
    EXPECT_TRUE(color_allowed(""));
    EXPECT_FALSE(color_allowed("1"));
    EXPECT_FALSE(color_allowed("0"));
}

}  // namespace
}  // namespace blkscope::top
