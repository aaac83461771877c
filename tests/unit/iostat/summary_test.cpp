#include "tools/iostat/summary.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

// The positions of the columns.
constexpr size_t transfers = 0;
constexpr size_t wait = 1;
constexpr size_t asvc_t = 4;
constexpr size_t b_percent = 5;

// The device a second later; `reads` reads were served, each for 1 ms.
Device after(Device device, uint_t reads) {
    device.snaptime += one_second;
    device.io.reads += reads;
    device.io.rlentime += reads * one_second / 1000;
    device.io.rtime += reads * one_second / 1000;
    return device;
}

TEST(IostatSummary, IsOfTheIntervalsNotOfWhatWasBefore) {
    Summary summary;
    const Device first = busy_device();
    const Device second = after(first, 100);
    const Device third = after(second, 300);
    summary.add({first});
    EXPECT_TRUE(summary.devices().empty());
    EXPECT_EQ(summary.intervals(), 0);
    summary.add({second});
    summary.add({third});
    EXPECT_EQ(summary.intervals(), 2);
    const DeviceSummary device = summary.devices().at(0);
    EXPECT_DOUBLE_EQ(device.elapsed_s, 2);
    EXPECT_DOUBLE_EQ(device.columns[transfers].average, 200);
    EXPECT_DOUBLE_EQ(device.columns[transfers].least, 100);
    EXPECT_DOUBLE_EQ(device.columns[transfers].most, 300);
    EXPECT_DOUBLE_EQ(device.columns[asvc_t].average, 1);
    EXPECT_DOUBLE_EQ(device.columns[b_percent].average, 20);
    EXPECT_DOUBLE_EQ(device.columns[b_percent].most, 30);
    EXPECT_DOUBLE_EQ(device.columns[wait].most, 0);
}

TEST(IostatSummary, TimesPerRequestAreOfRequests) {
    Summary summary;
    const Device first = idle_device("sd0");
    Device second = after(first, 0);
    second.io.rlentime += one_second;  // one read is in service, and none was completed
    const Device third = after(second, 10);
    summary.add({first});
    summary.add({second});
    EXPECT_FALSE(summary.devices().at(0).columns[asvc_t].any);
    summary.add({third});
    const Spread spread = summary.devices().at(0).columns[asvc_t];
    EXPECT_TRUE(spread.any);
    EXPECT_DOUBLE_EQ(spread.average, 101);  // 1010 ms of stays, ten requests
    EXPECT_DOUBLE_EQ(spread.least, 1);
    EXPECT_DOUBLE_EQ(spread.most, 1);
}

TEST(IostatSummary, ADeviceCreatedMeanwhileBelongsToItFromItsCreation) {
    Summary summary;
    const Device sd0 = idle_device("sd0");
    summary.add({sd0});
    Device created = idle_device("sd1");
    created.crtime = sd0.snaptime + one_second / 2;
    created.snaptime = created.crtime + one_second / 2;
    created.io.reads = 10;
    const Device older = busy_device("sd2");  // created before the first look, but only seen later
    summary.add({after(sd0, 0), created, older});
    const auto devices = summary.devices();
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[1].name, "sd1");
    EXPECT_DOUBLE_EQ(devices[1].columns[transfers].average, 20);
}

TEST(IostatSummary, TwoProvidersMayPublishOneName) {
    Summary summary;
    Device one = idle_device("sd0");
    Device other = one;
    one.kid = 7;
    other.kid = 8;
    summary.add({one, other});
    summary.add({after(one, 100), after(other, 0)});
    const auto devices = summary.devices();
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_DOUBLE_EQ(devices[0].columns[transfers].average, 100);
    EXPECT_DOUBLE_EQ(devices[1].columns[transfers].average, 0);
}

TEST(IostatSummary, IsLabelledAndHasALinePerStatistic) {
    Summary summary;
    const Device first = idle_device("sd0");
    summary.add({first, idle_device("sd1")});
    summary.add({after(first, 100), after(idle_device("sd1"), 0)});
    EXPECT_EQ(summary_text(summary, {}),
              "summary of the run: 1 interval, 1.0 s\n"
              "         r/s+w/s   wait   actv   wsvc_t   asvc_t   %b device\n"
              "average    100.0    0.0    0.1      0.0      1.0   10 sd0\n"
              "minimum    100.0    0.0    0.1      0.0      1.0   10 sd0\n"
              "maximum    100.0    0.0    0.1      0.0      1.0   10 sd0\n"
              "average      0.0    0.0    0.0        -        -    0 sd1\n"
              "minimum      0.0    0.0    0.0        -        -    0 sd1\n"
              "maximum      0.0    0.0    0.0        -        -    0 sd1\n");
    Options options;
    options.microseconds = true;
    EXPECT_NE(summary_text(summary, options).find("    0.000    1.000   10 sd0\n"),
              std::string::npos);
    options.comma_separated = true;
    EXPECT_TRUE(summary_text(summary, options)
                    .starts_with("summary of the run\n"
                                 "statistic,r/s+w/s,wait,actv,wsvc_t,asvc_t,%b,device\n"
                                 "average,100.0,0.0,0.1,0.000,1.000,10,sd0\n"));
    EXPECT_TRUE(summary_text(summary, options).ends_with("maximum,0.0,0.0,0.0,,,0,sd1\n"));
}

TEST(IostatSummary, WithoutAnIntervalItSaysSo) {
    EXPECT_TRUE(
        summary_text(Summary(), {}).starts_with("summary of the run: 0 intervals, 0.0 s\n"));
}

}  // namespace
}  // namespace blkscope::iostat
