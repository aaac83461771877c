#include "tools/web/metrics.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "iostat/devices.hpp"
#include "scrape.hpp"

namespace blkscope::web {
namespace {

DeviceLook disk(const std::string& name) {
    DeviceLook look{.device = iostat::device_with_histograms(name)};
    look.device.module = "nbd";
    look.device.errors = iostat::error_records();
    look.commands = {
        {"read_requests", 1000}, {"read_errors", 3}, {"read_bytes", 5}, {"connections", 2}};
    look.errnos = {{"read_EIO", 2}, {"write_zeroes_ENOSPC", 1}, {"other", 4}};
    look.queue_depth = 128;
    look.settings.model = top::ModelSetting{.spec = "hdd7200", .overruns = 4};
    look.settings.limit = top::LimitSetting{
        .spec = "iops=5", .buckets = {{.name = "iops", .exceeded_ns = 1'500'000'000}}};
    look.settings.faults = {{.id = "1", .rule = "read:error=EIO", .hits = 9}};
    return look;
}

DeviceLook part(const std::string& name, iostat::Kind kind) {
    DeviceLook look{.device = iostat::busy_device(name)};
    look.device.kind = kind;
    return look;
}

Scrape scrape(const Look& look, bool open_metrics = false, bool clients_named = true) {
    const TextFormat format = open_metrics ? TextFormat::open_metrics : TextFormat::prometheus;
    return Scrape(metrics_text(look, {.format = format, .clients_named = clients_named}),
                  open_metrics);
}

TEST(WebMetrics, HaveTheCountersOfADiskAsTheyWereRead) {
    const Look look{.time = 0, .devices = {disk("nbd0")}};
    for (const bool open : {false, true}) {
        const Scrape text = scrape(look, open);
        EXPECT_EQ(text["blkscope_reads_completed_total{device=\"nbd0\"}"], "1000");
        EXPECT_EQ(text["blkscope_writes_completed_total{device=\"nbd0\"}"], "500");
        EXPECT_EQ(text["blkscope_read_bytes_total{device=\"nbd0\"}"], "8192000");
        EXPECT_EQ(text["blkscope_wait_length_seconds_total{device=\"nbd0\"}"], "2.000000000");
        EXPECT_EQ(text["blkscope_run_length_seconds_total{device=\"nbd0\"}"], "75.000000000");
        EXPECT_EQ(text["blkscope_wait_queue_length{device=\"nbd0\"}"], "0");
        EXPECT_EQ(text["blkscope_queue_depth{device=\"nbd0\"}"], "128");
        EXPECT_EQ(text["blkscope_connections{device=\"nbd0\"}"], "2");
        EXPECT_EQ(text["blkscope_requests_total{device=\"nbd0\",op=\"read\"}"], "1000");
        EXPECT_EQ(text["blkscope_errors_total{device=\"nbd0\",op=\"read\"}"], "3");
        const std::string errors = "blkscope_errors_by_errno_total{device=\"nbd0\",";
        EXPECT_EQ(text[errors + "op=\"read\",errno=\"EIO\"}"], "2");
        EXPECT_EQ(text[errors + "op=\"write_zeroes\",errno=\"ENOSPC\"}"], "1");
        EXPECT_EQ(text[errors + "op=\"other\",errno=\"other\"}"], "4");
        EXPECT_EQ(text["blkscope_device_errors_total{device=\"nbd0\",kind=\"hard\"}"], "2");
        EXPECT_EQ(text["blkscope_requests_refused_total{device=\"nbd0\"}"], "4");
        EXPECT_EQ(text["blkscope_model_overruns_total{device=\"nbd0\"}"], "4");
        EXPECT_EQ(text["blkscope_limit_exceeded_seconds_total{device=\"nbd0\",limit=\"iops\"}"],
                  "1.500000000");
        EXPECT_EQ(
            text["blkscope_fault_hits_total{device=\"nbd0\",fault=\"1\",rule=\"read:error=EIO\"}"],
            "9");
        EXPECT_FALSE(text.has_family("blkscope_client_info"));
    }
}

DeviceLook behind_an_upstream(const std::string& state) {
    DeviceLook look = disk("nbd0");
    look.settings.upstream = {
        .state = state,
        .counts = {{"connections", 4}, {"reconnects", 2}, {"resent", 7}, {"orphans", 1}},
        .round_trip_ns = 36'000};
    return look;
}

TEST(WebMetrics, AnUpstreamHasASeriesForEachState) {
    const Look look{.time = 0, .devices = {behind_an_upstream("waiting"), disk("nbd1")}};
    for (const bool open : {false, true}) {
        const Scrape text = scrape(look, open);
        const std::string state = "blkscope_upstream_state{device=\"nbd0\",state=";
        EXPECT_EQ(text[state + "\"connected\"}"], "0");
        EXPECT_EQ(text[state + "\"waiting\"}"], "1");
        EXPECT_EQ(text[state + "\"changed\"}"], "0");
        EXPECT_EQ(text[state + "\"blocklisted\"}"], "0");
        EXPECT_EQ(text["blkscope_upstream_connections{device=\"nbd0\"}"], "4");
        EXPECT_EQ(text["blkscope_upstream_reconnects_total{device=\"nbd0\"}"], "2");
        EXPECT_EQ(text["blkscope_upstream_resent_total{device=\"nbd0\"}"], "7");
        EXPECT_EQ(text["blkscope_upstream_orphans{device=\"nbd0\"}"], "1");
        EXPECT_EQ(text["blkscope_upstream_round_trip_seconds{device=\"nbd0\"}"], "0.000036000");
        EXPECT_FALSE(text.has_family("blkscope_upstream_timeouts_total"));
        EXPECT_EQ(text.count("blkscope_upstream_state{"), 4u);
        EXPECT_EQ(text.count("blkscope_upstream_resent_total{"), 1u);
    }
}

TEST(WebMetrics, AStateThatIsNotKnownIsASeriesToo) {
    const Scrape text = scrape({.time = 0, .devices = {behind_an_upstream("later")}});
    EXPECT_EQ(text["blkscope_upstream_state{device=\"nbd0\",state=\"later\"}"], "1");
    EXPECT_EQ(text["blkscope_upstream_state{device=\"nbd0\",state=\"connected\"}"], "0");
}

TEST(WebMetrics, AHistogramCountsBelowEachEdge) {
    const Scrape text = scrape({.time = 0, .devices = {disk("nbd0")}});
    const std::string lead =
        "blkscope_io_latency_seconds_bucket{device=\"nbd0\",op=\"read\",phase=\"service\",";
    EXPECT_EQ(text[lead + "le=\"0.0001\"}"], "0");
    EXPECT_EQ(text[lead + "le=\"0.0002\"}"], "980");
    EXPECT_EQ(text[lead + "le=\"0.02\"}"], "980");
    EXPECT_EQ(text[lead + "le=\"0.05\"}"], "1000");
    EXPECT_EQ(text[lead + "le=\"+Inf\"}"], "1000");
    EXPECT_EQ(
        text["blkscope_io_latency_seconds_sum{device=\"nbd0\",op=\"read\",phase=\"service\"}"],
        "1.017600000");
}

TEST(WebMetrics, AnOperationIsThereFromItsFirstRequestOn) {
    DeviceLook look = disk("nbd0");
    const std::string flushes = "blkscope_io_latency_seconds_count{device=\"nbd0\",op=\"flush\"";
    const std::string writes = "blkscope_io_latency_seconds_count{device=\"nbd0\",op=\"write\"";
    EXPECT_EQ(scrape({.time = 0, .devices = {look}}).count(flushes), 0u);
    EXPECT_EQ(scrape({.time = 0, .devices = {look}}).count(writes), 3u);
    look.device.histograms.at("flush_total") = iostat::times({{1000, 1}});
    EXPECT_EQ(scrape({.time = 0, .devices = {look}}).count(flushes), 3u);
}

TEST(WebMetrics, PartitionsAndClientsHaveFamiliesOfTheirOwn) {
    DeviceLook client = part("nbd0,client-1", iostat::Kind::client);
    client.program = "fio";
    client.peer = "pid 7";
    const Look look{.time = 0,
                    .devices = {disk("nbd0"), part("nbd0,a", iostat::Kind::partition), client}};
    const Scrape text = scrape(look);
    EXPECT_EQ(text.count("blkscope_reads_completed_total"), 1u);
    EXPECT_EQ(text["blkscope_partition_reads_completed_total{device=\"nbd0\",partition=\"a\"}"],
              "1000");
    EXPECT_EQ(text["blkscope_client_reads_completed_total{device=\"nbd0\",client=\"client-1\"}"],
              "1000");
    EXPECT_EQ(text["blkscope_client_info{device=\"nbd0\",client=\"client-1\",program=\"fio\",peer="
                   "\"pid 7\"}"],
              "1");
    EXPECT_FALSE(scrape(look, false, false).has_family("blkscope_client_info"));
}

TEST(WebMetrics, OfManyClientsTheBusiestHaveSeries) {
    Look look{.time = 0, .devices = {disk("nbd0")}};
    for (unsigned i = 0; i < 60; ++i) {
        look.devices.push_back(part("nbd0,client-" + std::to_string(i), iostat::Kind::client));
        look.devices.back().device.io.reads = i;
        look.devices.back().device.io.writes = 0;
    }
    const Scrape text = scrape(look);
    EXPECT_EQ(text.count("blkscope_client_reads_completed_total"), clients_shown_max + 1);
    EXPECT_EQ(text["blkscope_client_reads_completed_total{device=\"nbd0\",client=\"client-59\"}"],
              "59");
    EXPECT_EQ(text["blkscope_client_reads_completed_total{device=\"nbd0\",client=\"client-9\"}"],
              "none");
    EXPECT_EQ(text["blkscope_client_reads_completed_total{device=\"nbd0\",client=\"other\"}"],
              "45");
}

TEST(WebMetrics, HostileAndEqualNamesMakeEachSeriesOnce) {
    Look look;
    for (const char* name : {"nbd0", "nbd0", "nbd0#2", "nbd0#2", "a\"b\\c\nd", "\xff", "\xfe", "}",
                             "", "\x1b[2J", "\xf0\x9f\x92\xbe"}) {
        look.devices.push_back(disk(name));
        look.devices.push_back(part(std::string(name) + ",a", iostat::Kind::partition));
        look.devices.push_back(part(std::string(name) + ",a", iostat::Kind::partition));
        look.devices.push_back(part(std::string(name) + ",client-1", iostat::Kind::client));
    }
    for (const bool open : {false, true}) {
        const Scrape text = scrape(look, open);
        EXPECT_EQ(text.count("blkscope_reads_completed_total"), 11u);
        EXPECT_EQ(text.count("blkscope_partition_reads_completed_total"), 22u);
        EXPECT_EQ(text.count("blkscope_client_reads_completed_total"), 11u);
    }
}

TEST(WebMetrics, EachProviderIsUpOrNot) {
    const Scrape text = scrape({.time = 0, .devices = {}, .providers = {{7, true}, {8, false}}});
    EXPECT_EQ(text["blkscope_provider_up{pid=\"7\"}"], "1");
    EXPECT_EQ(text["blkscope_provider_up{pid=\"8\"}"], "0");
}

TEST(WebMetrics, DevicesThatAreNotShownHaveNoSeries) {
    const Look look{.time = 0, .devices = {disk("nbd0"), disk("nbd1")}};
    const auto shows = [](const DeviceLook& one) { return one.device.name == "nbd1"; };
    const Scrape text(metrics_text(look, {.shows = shows}));
    EXPECT_EQ(text.count("blkscope_reads_completed_total"), 1u);
    EXPECT_EQ(text["blkscope_reads_completed_total{device=\"nbd1\"}"], "1000");
}

TEST(WebMetrics, AnEmptyLookIsStillAScrape) {
    EXPECT_EQ(scrape({}).size(), 1u);  // the version
    EXPECT_EQ(scrape({}, true).size(), 1u);
}

TEST(WebMetrics, AHundredDevicesAndTwoHundredClientsAreLessThanFourMegabytes) {
    Look look;
    for (int i = 0; i < 100; ++i) {
        look.devices.push_back(disk("nbd" + std::to_string(i)));
        for (int client = 0; client < 2; ++client) {
            look.devices.push_back(
                part("nbd" + std::to_string(i) + ",client-" + std::to_string(client),
                     iostat::Kind::client));
        }
    }
    EXPECT_LT(metrics_text(look, {}).size(), 4'000'000u);
}

}  // namespace
}  // namespace blkscope::web
