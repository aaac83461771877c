#include "tools/iostat/freebsd/report.hpp"

#include <gtest/gtest.h>

#include "devstat/entries/bintime.hpp"

namespace blkscope::iostat::freebsd {
namespace {

constexpr int64_t ms = 1'000'000;

/// A device over two seconds. There are 199 reads of 4 KiB in 400 ms, and 98 writes of 16 KiB in
/// 490 ms.
Shown busy(const char* name) {
    Shown device;
    device.name = name;
    device.elapsed_s = 2;
    device.before = Devstat{};
    Devstat& d = device.now;
    d.start_count = 300;
    d.end_count = 297;
    d.block_size = 512;
    d.operations[DEVSTAT_READ] = 199;
    d.bytes[DEVSTAT_READ] = 199 * 4096;
    d.duration[DEVSTAT_READ] = devstat::bintime_of(400 * ms);
    d.operations[DEVSTAT_WRITE] = 98;
    d.bytes[DEVSTAT_WRITE] = 98 * 16384;
    d.duration[DEVSTAT_WRITE] = devstat::bintime_of(490 * ms);
    d.busy_time = devstat::bintime_of(500 * ms);
    return device;
}

Shown idle(const char* name) {
    Shown device;
    device.name = name;
    device.elapsed_s = 2;
    return device;
}

Options plain() {
    Options options;
    options.cpu = true;
    options.tty = true;
    return options;
}

const Machine machine{3, 120, {10, 0.4, 5.5, 1, 83.1}};

TEST(FreebsdReport, StandsBetweenTheTerminalsAndTheProcessors) {
    const std::vector<Shown> devices{busy("vbd0"), idle("vbd1")};
    EXPECT_EQ(header(plain(), devices),
              "       tty            vbd0             vbd1             cpu\n"
              " tin  tout  KB/t tps  MB/s   KB/t tps  MB/s  us ni sy in id\n");
    EXPECT_EQ(report(plain(), devices, machine),
              "   3   120  7.96 148  1.15   0.00   0  0.00  10  0  6  1 83\n");
}

TEST(FreebsdReport, HasTotalsWhereTheyAreAskedFor) {
    Options options;
    options.totals = true;
    EXPECT_EQ(header(options, {busy("vbd0")}), "            vbd0 \n  KB/t xfrs   MB \n");
    EXPECT_EQ(report(options, {busy("vbd0")}, machine), "  7.96 297  2.31 \n");
}

TEST(FreebsdReport, HasTheOldColumns) {
    Options options;
    options.old_columns = true;
    EXPECT_EQ(header(options, {busy("vbd0")}), "         vbd0 \n sps tps msps \n");
    EXPECT_EQ(report(options, {busy("vbd0")}, machine), " 2364 148  3.0 \n");
    options.kilobytes = true;
    EXPECT_EQ(report(options, {busy("vbd0")}, machine), " 1182 148  3.0 \n");
    options.totals = true;
    EXPECT_EQ(header(options, {}), "\n\n");
    EXPECT_EQ(report(options, {busy("vbd0")}, machine), " 2364 297  3.0 \n");
}

// In the original, such numbers touch each other.
TEST(FreebsdReport, ABlankRemainsBesideANumberThatIsTooLong) {
    Options options = plain();
    options.old_columns = true;
    options.cpu = false;
    Shown device = busy("vbd0");
    device.now.operations[DEVSTAT_READ] = 123'456;
    EXPECT_EQ(report(options, {device}, machine), "   3   120 2364 61777  0.0 \n");
}

TEST(FreebsdReport, HasALinePerDevice) {
    Options options;
    options.extended = true;
    const std::string title = "                        extended device statistics  \n";
    const std::string columns =
        "device       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b  \n";
    const std::string line =
        "vbd0          99      49    398.0    784.0     2     5     0     2    3  25 \n";
    const std::string nothing =
        "vbd1           0       0      0.0      0.0     0     0     0     0    0   0 \n";
    const std::vector<Shown> devices{busy("vbd0"), idle("vbd1")};
    EXPECT_EQ(header(options, devices), "");
    EXPECT_EQ(report(options, devices, machine), title + columns + line + nothing);
    options.idle_hidden = true;
    EXPECT_EQ(report(options, devices, machine), title + columns + line);
}

TEST(FreebsdReport, HasALinePerDeviceWithTotals) {
    Options options;
    options.extended = true;
    options.totals = true;
    options.tty = true;
    options.cpu = true;
    EXPECT_EQ(report(options, {busy("vbd0"), idle("vbd1")}, machine),
              "      cpu\n us ni sy in id\n 10  0  6  1 83\n"
              "                        extended device statistics        tty \n"
              "device           r/i         w/i         kr/i         kw/i qlen   tsvc_t/i      "
              "sb/i  tin  tout \n"
              "vbd0           199.0        98.0        796.0       1568.0    3        0.9       "
              "0.5    3  120\n"
              "vbd1             0.0         0.0          0.0          0.0    0        0.0       "
              "0.0 \n");
}

TEST(FreebsdReport, HasTheMachineWithoutAnyDeviceThatDidSomething) {
    Options options;
    options.extended = true;
    options.idle_hidden = true;
    const std::string head =
        "                        extended device statistics  \n"
        "device       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b  \n";
    EXPECT_EQ(report(options, {idle("vbd1")}, machine), head);
    options.tty = true;
    options.cpu = true;
    const std::string text = report(options, {idle("vbd1")}, machine);
    EXPECT_TRUE(
        text.ends_with("  tin  tout \n" + std::string(52, ' ') + "   3   120 10  0  6  1 83\n"))
        << text;
}

TEST(FreebsdReport, BlocksOfTotalsAreWholeOnes) {
    Options options;
    options.old_columns = true;
    options.totals = true;
    Shown device = idle("vbd0");
    device.now.block_size = 512;
    device.now.operations[DEVSTAT_READ] = 1;
    device.now.bytes[DEVSTAT_READ] = 1900;
    EXPECT_EQ(report(options, {device}, machine), "   3   1  0.0 \n");
    options.kilobytes = true;
    EXPECT_EQ(report(options, {device}, machine), "   1   1  0.0 \n");
    options.totals = false;
    options.kilobytes = false;
    EXPECT_EQ(report(options, {device}, machine), "   2   0  0.0 \n");
}

TEST(FreebsdReport, CutsLongNames) {
    Shown device = busy("longname12");
    EXPECT_EQ(header({}, {device}).substr(0, 18), "          longna \n");
    Options options;
    options.extended = true;
    EXPECT_NE(report(options, {device}, machine).find("\nlongname "), std::string::npos);
}

TEST(FreebsdReport, BusyIsAtMostAll) {
    Options options;
    options.extended = true;
    Shown device = busy("vbd0");
    device.now.busy_time = devstat::bintime_of(2010 * ms);
    EXPECT_NE(report(options, {device}, machine).find("    3 100 \n"), std::string::npos);
}

TEST(FreebsdReport, WithoutAnyTimeTheTotalsAreTheRates) {
    Shown device = busy("vbd0");
    device.elapsed_s = 0;
    EXPECT_EQ(report({}, {device}, machine), "  7.96 297  2.31 \n");
}

TEST(CpuPercentages, AreThoseOfTheTimeThatPassed) {
    const std::array<long, CPUSTATES> before{100, 0, 50, 0, 1000};
    const std::array<long, CPUSTATES> now{110, 5, 75, 10, 1050};
    const std::array<double, CPUSTATES> expected{10, 5, 25, 10, 50};
    EXPECT_EQ(cpu_percentages(before, now), expected);
    EXPECT_EQ(cpu_percentages(now, now), (std::array<double, CPUSTATES>{}));
}

}  // namespace
}  // namespace blkscope::iostat::freebsd
