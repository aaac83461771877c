#include "tools/iostat/json.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "devices.hpp"
#include "tools/iostat/report.hpp"

namespace blkscope::iostat {
namespace {

using Json = nlohmann::json;

Options json_options() {
    Options options;
    options.json = true;
    return options;
}

Json parsed(const std::string& line) {
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    return Json::parse(line);
}

TEST(IostatJson, TheFirstLineCoversEachDevicesLife) {
    Reporter reporter(json_options());
    const Json report = parsed(reporter.report({busy_device()}, two_processors(), 1234));
    EXPECT_EQ(report["schema"], "blockdev.iostat/1");
    EXPECT_EQ(report["ts"], 1234);
    EXPECT_EQ(report["snaptime_ns"], busy_device().snaptime);
    EXPECT_TRUE(report["interval_s"].is_null());
    EXPECT_EQ(report["since_creation"], true);
    EXPECT_EQ(report["cpu"]["user_pct"], 6.0);
    EXPECT_EQ(report["cpu"]["processors"], 2);
    EXPECT_EQ(report["tty"]["characters_out_per_s"], 120.0);
    const Json& device = report["devices"][0];
    EXPECT_EQ(device["device"], "sd0");
    EXPECT_EQ(device["class"], "disk");
    EXPECT_EQ(device["counters"]["reads"], 1000);
    EXPECT_EQ(device["counters"]["written_bytes"], 2'048'000);
    EXPECT_EQ(device["counters"]["rlentime_ns"], 75 * one_second);
    EXPECT_TRUE(device["errors"].is_null());
}

TEST(IostatJson, HistogramsAreTheIntervalsWithOneBoundLessThanCounts) {
    Options options = json_options();
    options.waits = true;
    Reporter reporter(options);
    (void)reporter.report({device_with_histograms()});
    Device later = one_second_later(device_with_histograms());
    later.histograms.at("read_wait") = times({{5'000, 981}, {3'000'000, 22}});
    const Json report = parsed(reporter.report({later}));
    const Json& histogram = report["devices"][0]["histograms"]["read_wait"];
    EXPECT_EQ(histogram["type"], "log10_lin");
    EXPECT_EQ(histogram["range_min"], 3);
    EXPECT_EQ(histogram["range_max"], 10);
    EXPECT_EQ(histogram["stepping"], 20);
    EXPECT_EQ(histogram["unit"], "ns");
    EXPECT_EQ(histogram["count"], 3);
    EXPECT_EQ(histogram["sum"], 5'000 + 2 * 3'000'000);
    ASSERT_EQ(histogram["bounds"].size() + 1, histogram["counts"].size());
    EXPECT_EQ(histogram["bounds"][0], 1'000);
    EXPECT_EQ(histogram["bounds"].back(), 100'000'000'000);
    const auto count_from = [&](uint64_t ns) {
        const auto& bounds = histogram["bounds"];
        const auto at = std::find(bounds.begin(), bounds.end(), ns) - bounds.begin();
        return histogram["counts"].at(static_cast<size_t>(at) + 1).get<int>();
    };
    EXPECT_EQ(count_from(5'000), 1);
    EXPECT_EQ(count_from(3'000'000), 2);
    EXPECT_EQ(count_from(70'000), 0);
    EXPECT_TRUE(report["devices"][0]["histograms"]["read_total"].is_null());  // no read was counted
    const Json& percentiles = report["devices"][0]["percentiles"];
    EXPECT_EQ(percentiles["wait"]["p50_ns"], 3'499'999);
    EXPECT_EQ(percentiles["wait"]["max_ns"], 3'499'999);
    EXPECT_TRUE(percentiles["total"]["p99_9_ns"].is_null());
}

TEST(IostatJson, HistogramsAreThereOnDemandAndNullWhereThereAreNone) {
    Reporter plain(json_options());
    EXPECT_FALSE(
        parsed(plain.report({device_with_histograms()}))["devices"][0].contains("histograms"));
    for (bool Options::*wanted : {&Options::waits, &Options::latencies, &Options::percentiles}) {
        Options options = json_options();
        options.*wanted = true;
        Reporter reporter(options);
        const Json report =
            parsed(reporter.report({device_with_histograms("nbd0"), busy_device()}));
        EXPECT_EQ(report["devices"][0]["histograms"]["latency"]["count"], 1002);
        EXPECT_TRUE(report["devices"][1]["histograms"].is_null());
        EXPECT_TRUE(report["devices"][1]["percentiles"].is_null());
    }
}

TEST(IostatJson, LaterLinesCoverAnInterval) {
    Reporter reporter(json_options());
    (void)reporter.report({busy_device()});
    const Json report = parsed(reporter.report({one_second_later(busy_device())}));
    EXPECT_EQ(report["interval_s"], 1.0);
    EXPECT_EQ(report["since_creation"], false);
    const Json& device = report["devices"][0];
    EXPECT_EQ(device["reads_per_s"], 100.0);
    EXPECT_EQ(device["writes_per_s"], 50.0);
    EXPECT_EQ(device["read_bytes_per_s"], 819'200.0);
    EXPECT_EQ(device["written_bytes_per_s"], 204'800.0);
    EXPECT_EQ(device["wait"], 0.2);
    EXPECT_EQ(device["actv"], 1.5);
    EXPECT_DOUBLE_EQ(device["wsvc_t_ms"].get<double>(), 200.0 / 150);
    EXPECT_DOUBLE_EQ(device["asvc_t_ms"].get<double>(), 10);
    EXPECT_DOUBLE_EQ(device["w_pct"].get<double>(), 10);
    EXPECT_DOUBLE_EQ(device["b_pct"].get<double>(), 50);
}

TEST(IostatJson, CountsAndMegabytesChangeNothing) {
    Options options = json_options();
    const std::string plain = Reporter(options).report({busy_device()});
    options.counts = true;
    options.megabytes = true;
    EXPECT_EQ(Reporter(options).report({busy_device()}), plain);
}

TEST(IostatJson, WhatIsNotKnownIsNull) {
    const Json report = parsed(Reporter(json_options()).report({idle_device("sd0")}));
    EXPECT_TRUE(report["devices"][0]["asvc_t_ms"].is_null());
    EXPECT_TRUE(report["cpu"].is_null());
    EXPECT_TRUE(report["tty"].is_null());
    const Json empty = parsed(Reporter(json_options()).report({}));
    EXPECT_TRUE(empty["devices"].empty());
    EXPECT_TRUE(empty["devices"].is_array());
    EXPECT_TRUE(empty["snaptime_ns"].is_null());
}

TEST(IostatJson, ErrorsAreCountsAndRecords) {
    Device device = idle_device("sd0");
    device.errors = error_records();
    const Json errors = parsed(Reporter(json_options()).report({device}))["devices"][0]["errors"];
    EXPECT_EQ(errors["total"], 6);
    EXPECT_EQ(errors["records"]["Size"], 17'179'869'184);
    EXPECT_EQ(errors["records"]["Vendor"], "ATA");
}

TEST(IostatJson, ChangesAreInTheLineUnlessTheyAreSilent) {
    Options options = json_options();
    Reporter reporter(options);
    (void)reporter.report({idle_device("sd0")});
    const Json report = parsed(reporter.report({idle_device("sd0"), idle_device("sd1")}));
    EXPECT_EQ(report["changes"], Json::array({"disk added: sd1"}));
    EXPECT_EQ(report["since_creation"], true);
    options.changes_silent = true;
    Reporter silent(options);
    (void)silent.report({idle_device("sd0")});
    EXPECT_TRUE(parsed(silent.report({idle_device("sd1")}))["changes"].empty());
}

TEST(IostatJson, ADeviceCreatedAnewIsAChange) {
    Reporter reporter(json_options());
    Device device = busy_device("sd0");
    (void)reporter.report({device});
    device.crtime += one_second;
    const Json report = parsed(reporter.report({one_second_later(device)}));
    EXPECT_EQ(report["changes"], Json::array({"disk removed: sd0", "disk added: sd0"}));
    EXPECT_EQ(report["since_creation"], true);
    EXPECT_TRUE(report["interval_s"].is_null());
}

TEST(IostatJson, IdleDevicesAreLeftOutOnRequest) {
    Options options = json_options();
    options.idle_hidden = true;
    const Json report = parsed(Reporter(options).report({idle_device("sd0"), busy_device("sd1")}));
    ASSERT_EQ(report["devices"].size(), 1u);
    EXPECT_EQ(report["devices"][0]["device"], "sd1");
}

TEST(IostatJson, ItParsesWhateverTheNamesAre) {
    for (const char* name : {"\xff\xfe", "a\"b\\c", "new\nline", "\x01", ""}) {
        EXPECT_TRUE(Json::accept(Reporter(json_options()).report({idle_device(name)}))) << name;
    }
}

TEST(IostatJson, BytesThatAreNotUtf8AreToldApart) {
    const Json report = parsed(Reporter(json_options()).report({idle_device("sd\xff\xfe")}));
    EXPECT_EQ(report["devices"][0]["device"], "sd\xc3\xbf\xc3\xbe");  // U+00FF and U+00FE
}

TEST(IostatJson, TheSummaryIsALineOfItsOwnSchema) {
    Summary summary;
    summary.add({idle_device("sd0")});
    Device later = idle_device("sd0");
    later.snaptime += 2 * one_second;
    later.io.reads = 10;
    summary.add({later});
    const Json line = parsed(json_summary(summary, 99));
    EXPECT_EQ(line["schema"], "blockdev.iostat-summary/1");
    EXPECT_EQ(line["intervals"], 1);
    EXPECT_EQ(line["devices"][0]["average"]["transfers_per_s"], 5.0);
    EXPECT_EQ(line["devices"][0]["minimum"]["asvc_t_ms"], 0.0);
    EXPECT_EQ(line["devices"][0]["elapsed_s"], 2.0);
}

}  // namespace
}  // namespace blkscope::iostat
