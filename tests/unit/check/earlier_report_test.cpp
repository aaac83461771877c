// The report is what iostat writes, so iostat's own writer makes it here.

#include "tools/check/earlier_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../failure.hpp"
#include "iostat/devices.hpp"
#include "tools/iostat/json.hpp"

namespace blkscope::check {
namespace {

std::string report_of(const iostat::Snapshot& devices) {
    iostat::Options options;
    options.json = true;
    options.waits = true;
    const iostat::Processors none;
    return iostat::json_report({nullptr, devices, nullptr, none}, {}, 1'700'000'000, options);
}

TEST(CheckEarlierReport, HasTheDeviceAsItWas) {
    iostat::Device device = iostat::device_with_histograms("nbd0");
    device.module = "nbd";
    device.errors = iostat::error_records();
    const Look look = parse_report(report_of({device}) + "no further line is read");
    EXPECT_EQ(look.time, device.snaptime);
    ASSERT_EQ(look.devices.size(), 1u);
    const iostat::Device& read = look.devices[0].device;
    EXPECT_TRUE(iostat::same_name(read, device));
    EXPECT_EQ(read.kind, iostat::Kind::disk);
    EXPECT_EQ(read.crtime, device.crtime);
    EXPECT_EQ(read.snaptime, device.snaptime);
    EXPECT_EQ(read.io.reads, device.io.reads);
    EXPECT_EQ(read.io.writes, device.io.writes);
    EXPECT_EQ(read.io.wlentime, device.io.wlentime);
    EXPECT_EQ(read.io.rlentime, device.io.rlentime);
    EXPECT_EQ(read.io.rtime, device.io.rtime);
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(iostat::error_count(read.errors, i), iostat::error_count(device.errors, i));
    }
    EXPECT_EQ(iostat::error_count(read.errors, iostat::refused_requests), 4u);
    const iostat::Histogram& times = read.histograms.at("read_service");
    EXPECT_TRUE(times.like(device.histograms.at("read_service")));
    EXPECT_EQ(times.counts, device.histograms.at("read_service").counts);
    EXPECT_EQ(times.sum, device.histograms.at("read_service").sum);
    EXPECT_TRUE(read.histograms.at("flush_wait").counts.empty());
}

TEST(CheckEarlierReport, IsTheFirstLookOfACheck) {
    iostat::Device device = iostat::device_with_histograms("nbd0");
    const Look before = parse_report(report_of({device}));
    device.snaptime += iostat::one_second;
    iostat::Histogram& times = device.histograms.at("read_service");
    times.counts[times.shape.index(5'100'000)] += 1;
    device.histograms.at("flush_wait").counts[1] += 1;
    Look now{.time = device.snaptime, .devices = {{.device = device}}};
    const auto line_of = [&](const char* condition) {
        return judge(parse_condition(condition), before, now).front().line;
    };
    EXPECT_EQ(line_of("max(nbd0.read.service) < 5ms"),
              "false: max(nbd0.read.service) < 5ms: nbd0 5ms to below 5.5ms, 1 request");
    EXPECT_EQ(line_of("max(nbd0.flush.wait) < 1s"),
              "true: max(nbd0.flush.wait) < 1s: nbd0 1us to below 1.5us, 1 request");
    EXPECT_EQ(line_of("max(nbd0.read.wait) < 1s"),
              "nothing to measure: max(nbd0.read.wait) < 1s: nbd0 had no such request");
}

TEST(CheckEarlierReport, HasTheErrorsOfEachOperation) {
    const DeviceLook nbd0{.device = iostat::device_with_histograms("nbd0"),
                          .commands = {{"read_errors", 3}, {"write_errors", 0}}};
    const DeviceLook sda{.device = iostat::busy_device("sda")};
    const std::string text = report_text({.time = 5, .devices = {nbd0, sda}});
    EXPECT_EQ(text.find('\n'), text.size() - 1);
    const Look look = parse_report(text);
    ASSERT_EQ(look.devices.size(), 2u);
    EXPECT_EQ(look.devices[0].commands, nbd0.commands);
    EXPECT_EQ(look.devices[0].device.histograms.at("read_total").counts,
              nbd0.device.histograms.at("read_total").counts);
    EXPECT_TRUE(look.devices[1].commands.empty());
}

// Counts that are larger than the older ones do not tell that a histogram began anew.
TEST(CheckEarlierReport, AHistogramThatBeganAnewIsToldByItsCreation) {
    iostat::Device device = iostat::device_with_histograms("nbd0");
    for (auto& [name, histogram] : device.histograms) histogram.crtime = 5;
    const Look before = parse_report(report_text({.time = 5, .devices = {{.device = device}}}));
    device.snaptime += iostat::one_second;
    for (const char* name : {"read_service", "flush_wait"}) {
        device.histograms.at(name).counts[1] += 1'000'000;
    }
    const auto line_of = [&](const char* condition) {
        const Look now{.time = device.snaptime, .devices = {{.device = device}}};
        return judge(parse_condition(condition), before, now).front().line;
    };
    EXPECT_TRUE(line_of("max(nbd0.flush.wait) < 1s").starts_with("true: ")) << "still the same";
    for (auto& [name, histogram] : device.histograms) histogram.crtime = 6;
    EXPECT_EQ(line_of("max(nbd0.flush.wait) < 1s"),
              "nothing to measure: max(nbd0.flush.wait) < 1s: nbd0 counts anew in its histogram "
              "flush_wait");
    EXPECT_EQ(line_of("p50(nbd0.read.service) < 1s"),
              "nothing to measure: p50(nbd0.read.service) < 1s: nbd0 counts anew in its histogram "
              "read_service");
}

TEST(CheckEarlierReport, WithoutDevicesHasTheTimeOfItsLook) {
    EXPECT_EQ(parse_report(report_text({.time = 5, .devices = {}})).time, 5);
}

std::string report_refusal(const std::string& text) {
    return failure_of([&] { return parse_report(text); });
}

TEST(CheckEarlierReport, AnyOtherFileIsRefused) {
    EXPECT_EQ(report_refusal(""), "its first line is no JSON");
    EXPECT_EQ(report_refusal("{\"schema\":"), "its first line is no JSON");
    EXPECT_EQ(report_refusal(std::string(100'000, '[') + std::string(100'000, ']')),
              "its first line is no JSON");
    EXPECT_EQ(report_refusal("[1]"), "no object has the schema");
    EXPECT_EQ(report_refusal(report_of({})),
              "it has no device, and so no time; make it with 'blkscope check --save'");
    EXPECT_EQ(report_refusal("{}"), "there is no schema");
    EXPECT_EQ(report_refusal("{\"schema\":7}"), "schema is no string");
    EXPECT_EQ(report_refusal("{\"schema\":\"fio\"}"), "its schema is not that of iostat -j");
    EXPECT_EQ(
        report_refusal(R"({"schema":"blockdev.iostat/1","since_creation":false})"),
        "its first line is not since the devices' creation; make it with 'blkscope check --save'");
}

TEST(CheckEarlierReport, EachValueThatIsWrongIsNamed) {
    const std::string good = report_of({iostat::device_with_histograms("nbd0")});
    using Pointer = nlohmann::json::json_pointer;
    const std::vector<std::pair<std::string, nlohmann::json>> changes{
        {"/devices", 7},
        {"/devices/0", "nbd0"},
        {"/devices/0/instance", 1e12},
        {"/devices/0/crtime_ns", -1},
        {"/devices/0/counters", nullptr},
        {"/devices/0/counters/reads", 0x1'0000'0000},
        {"/devices/0/errors", 5},
        {"/devices/0/commands", 7},
        {"/devices/0/commands/read_errors", "many"},
        {"/devices/0/histograms", "none"},
        {"/devices/0/histograms/read_wait", 5},
        {"/devices/0/histogram_crtimes_ns", 5},
        {"/devices/0/histogram_crtimes_ns", {{"read_wait", -1}}},
        {"/devices/0/histograms/read_wait/type", "square"},
        {"/devices/0/histograms/read_wait/stepping", 0},
        {"/devices/0/histograms/read_wait/counts", "many"},
        {"/devices/0/histograms/read_wait/counts/3", -5},
        {"/devices/0/histograms/read_wait/sum", "large"}};
    for (const auto& [where, value] : changes) {
        nlohmann::json changed = nlohmann::json::parse(good);
        changed[Pointer(where)] = value;
        const std::string refusal = report_refusal(changed.dump());
        EXPECT_NE(refusal, "none") << where;
        EXPECT_EQ(refusal.find('\n'), std::string::npos) << refusal;
    }
}

TEST(CheckEarlierReport, AFileThatIsNotThereIsNamed) {
    EXPECT_EQ(failure_of([] { return read_report("/nonexistent/before.json"); }),
              "check: --since /nonexistent/before.json: No such file or directory");
}

}  // namespace
}  // namespace blkscope::check
