// The tables of -w and -L and the columns of -q, character for character.

#include "tools/iostat/distribution.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "devices.hpp"
#include "tools/iostat/report.hpp"

namespace blkscope::iostat {
namespace {

Options options_of(const std::string& letters) {
    const auto parsed = parse_options({"iostat", letters, "1"});
    const auto* options = std::get_if<Options>(&parsed);
    if (options == nullptr) ADD_FAILURE() << letters << " is refused";
    return options != nullptr ? *options : Options{};
}

// The report of `iostat LETTERS` on the devices since their creation.
std::string report(const std::string& letters, const Snapshot& devices) {
    return Reporter(options_of(letters)).report(devices);
}

TEST(IostatDistribution, WaitsAreSideBySideInFifthsOfADecade) {
    EXPECT_EQ(report("-w", {device_with_histograms()}),
              "nbd0               wait        service       total\n"
              "   from      to   read write   read write   read write\n"
              "      0     1us      0     2      0     0      0     0\n"
              "    1us     2us      0     0      0     0      0     0\n"
              "    2us     4us      0     0      0     0      0     0\n"
              "    4us     6us    980     0      0     0      0     0\n"
              "    6us     8us      0     0      0     0      0     0\n"
              "    8us    10us      0     0      0     0      0     0\n"
              "   10us    20us      0     0      0     0      0     0\n"
              "   20us    40us      0     0      0     0      0     0\n"
              "   40us    60us      0     0      0     0      0     0\n"
              "   60us    80us      0     0      0     2      0     2\n"
              "   80us   100us      0     0      0     0      0     0\n"
              "  100us   200us      0     0    980     0    980     0\n"
              "  200us   400us      0     0      0     0      0     0\n"
              "  400us   600us      0     0      0     0      0     0\n"
              "  600us   800us      0     0      0     0      0     0\n"
              "  800us     1ms      0     0      0     0      0     0\n"
              "    1ms     2ms      0     0      0     0      0     0\n"
              "    2ms     4ms     20     0      0     0      0     0\n"
              "    4ms     6ms      0     0      0     0      0     0\n"
              "    6ms     8ms      0     0      0     0      0     0\n"
              "    8ms    10ms      0     0      0     0      0     0\n"
              "   10ms    20ms      0     0      0     0      0     0\n"
              "   20ms    40ms      0     0      0     0      0     0\n"
              "   40ms    60ms      0     0     20     0     20     0\n"
              "            p50  5.5us   1us  150us  75us  150us  75us\n"
              "            p90  5.5us   1us  150us  75us  150us  75us\n"
              "            p99  3.5ms   1us   50ms  75us   50ms  75us\n"
              "          p99.9  3.5ms   1us   50ms  75us   50ms  75us\n"
              "            max  3.5ms   1us   50ms  75us   50ms  75us\n");
}

TEST(IostatDistribution, AColumnComesWithTheFirstRequestOfItsKindAndStays) {
    Device device = device_with_histograms();
    device.histograms.at("flush_total") = times({{5'000'000, 1}});
    Reporter reporter(options_of("-w"));
    EXPECT_NE(reporter.report({device}).find(" flush"), std::string::npos);
    EXPECT_NE(reporter.report({device}).find(" flush"), std::string::npos);
}

TEST(IostatDistribution, TheStagesOnTheConnectionComeWithItsFirstRequest) {
    Device device = device_with_histograms();
    device.histograms.emplace("read_receive", times({{2'000, 4}}));
    device.histograms.emplace("read_reply", times({{40'000, 4}}));
    const std::string text = report("-w", {device});
    EXPECT_NE(text.find("    total       receive       reply\n"), std::string::npos) << text;
    EXPECT_NE(text.find("p50  5.5us   1us  150us  75us  150us  75us  2.5us     -   45us     -\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(report("-w", {device_with_histograms()}).find("receive"), std::string::npos);
}

// Since its creation, a device has counts of nine digits.
TEST(IostatDistribution, NoLineOfTheWaitsIsLongerThanATerminalAndNothingIsLeftOut) {
    Device device = device_with_histograms();
    device.histograms.clear();
    std::set<std::string> counts;
    uint64_t count = 100'000'000;
    for (const char* operation : {"read", "write", "flush", "trim", "write_zeroes"}) {
        for (const char* phase : {"wait", "service", "total", "receive", "reply"}) {
            counts.insert(std::to_string(++count));
            device.histograms.emplace(fmt::format("{}_{}", operation, phase),
                                      times({{45'000'000, count}}));
        }
    }
    const std::string text = report("-w", {device});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
    for (const std::string& each : counts) {
        EXPECT_NE(text.find(" " + each), std::string::npos) << each << " is missing in\n" << text;
    }
    for (const char* phase : {"wait", "service", "total", "receive", "reply"}) {
        EXPECT_NE(text.find(std::string(" ") + phase), std::string::npos) << text;
    }
}

TEST(IostatDistribution, TheFivePhasesOfReadsAndWritesFitBesideEachOther) {
    Device device = device_with_histograms();
    for (const char* name : {"read_receive", "write_receive", "read_reply", "write_reply"}) {
        device.histograms.emplace(name, times({{100'000'000, 99'999}}));
    }
    const std::string text = report("-w", {device});
    EXPECT_EQ(std::ranges::count(text, 'f'), 1) << text;  // of "from", in one line of headings
}

TEST(IostatDistribution, LaterTablesAreOfTheInterval) {
    Device later = one_second_later(device_with_histograms());
    later.histograms.at("read_wait") = times({{5'000, 980}, {3'000'000, 21}});
    Reporter reporter(options_of("-w"));
    (void)reporter.report({device_with_histograms()});
    EXPECT_EQ(reporter.report({later}),
              "nbd0               wait        service       total\n"
              "   from      to   read write   read write   read write\n"
              "    2ms     4ms      1     0      0     0      0     0\n"
              "            p50  3.5ms     -      -     -      -     -\n"
              "            p90  3.5ms     -      -     -      -     -\n"
              "            p99  3.5ms     -      -     -      -     -\n"
              "          p99.9  3.5ms     -      -     -      -     -\n"
              "            max  3.5ms     -      -     -      -     -\n");
}

TEST(IostatDistribution, WithCommasEachBucketThatIsNotEmptyIsALine) {
    EXPECT_EQ(
        report("-wr", {device_with_histograms()}),
        "device,from_ns,to_ns,read_wait,write_wait,flush_wait,trim_wait,write_zeroes_wait,"
        "read_service,write_service,flush_service,trim_service,write_zeroes_service,read_"
        "total,write_total,flush_total,trim_total,write_zeroes_total,read_receive,write_receive,"
        "flush_receive,trim_receive,write_zeroes_receive,read_reply,write_reply,flush_reply,"
        "trim_reply,write_zeroes_reply\n"
        "nbd0,0,999,0,2,0,,,0,0,0,,,0,0,0,,,,,,,,,,,,\n"
        "nbd0,5000,5499,980,0,0,,,0,0,0,,,0,0,0,,,,,,,,,,,,\n"
        "nbd0,70000,74999,0,0,0,,,0,2,0,,,0,2,0,,,,,,,,,,,,\n"
        "nbd0,100000,149999,0,0,0,,,980,0,0,,,980,0,0,,,,,,,,,,,,\n"
        "nbd0,3000000,3499999,20,0,0,,,0,0,0,,,0,0,0,,,,,,,,,,,,\n"
        "nbd0,45000000,49999999,0,0,0,,,20,0,0,,,20,0,0,,,,,,,,,,,,\n");
}

TEST(IostatDistribution, LatencyIsReadsAndWritesByPowersOfTwo) {
    EXPECT_EQ(report("-L", {device_with_histograms()}),
              "nbd0             latency\n"
              "   from      to    count density cumulative\n"
              " 65.5us   131us      982   98.00      98.00\n"
              "  131us   262us        0    0.00      98.00\n"
              "  262us   524us        0    0.00      98.00\n"
              "  524us  1.05ms        0    0.00      98.00\n"
              " 1.05ms   2.1ms        0    0.00      98.00\n"
              "  2.1ms  4.19ms        0    0.00      98.00\n"
              " 4.19ms  8.39ms        0    0.00      98.00\n"
              " 8.39ms  16.8ms        0    0.00      98.00\n"
              " 16.8ms  33.6ms        0    0.00      98.00\n"
              " 33.6ms  67.1ms       20    2.00     100.00\n");
}

TEST(IostatDistribution, LatencyWithCommas) {
    EXPECT_EQ(report("-Lr", {device_with_histograms()}),
              "device,from_ns,to_ns,count,density,cumulative\n"
              "nbd0,65536,131071,982,98.00,98.00\n"
              "nbd0,33554432,67108863,20,2.00,100.00\n");
}

TEST(IostatDistribution, PercentilesHaveATableBelowTheExtendedReport) {
    EXPECT_EQ(report("-xnq", {device_with_histograms(), busy_device()}),
              "                    extended device statistics              \n"
              "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n"
              "   10.0    5.0   79.9   20.0  0.0  0.7    1.3   50.0   1  50 nbd0\n"
              "   10.0    5.0   79.9   20.0  0.0  0.7    1.3   50.0   1  50 sd0\n"
              "             percentiles of wait and service, ms      \n"
              "    w_p50    w_p99  w_p99.9    a_p50    a_p99  a_p99.9 device\n"
              "    0.006    3.500    3.500    0.150   50.000   50.000 nbd0\n"
              "        -        -        -        -        -        - sd0\n");
    EXPECT_EQ(report("-q", {device_with_histograms()}), report("-xq", {device_with_histograms()}));
    EXPECT_EQ(
        report("-xnqr", {device_with_histograms(), busy_device()}),
        "extended device statistics\n"
        "r/s,w/s,kr/s,kw/"
        "s,wait,actv,wsvc_t,asvc_t,%w,%b,w_p50,w_p99,w_p99.9,a_p50,a_p99,a_p99.9,device\n"
        "10.0,5.0,79.9,20.0,0.0,0.7,1.3,50.0,1,50,0.006,3.500,3.500,0.150,50.000,50.000,nbd0\n"
        "10.0,5.0,79.9,20.0,0.0,0.7,1.3,50.0,1,50,,,,,,,sd0\n");
}

TEST(IostatDistribution, PercentilesAreOfTheInterval) {
    Device later = one_second_later(device_with_histograms());
    later.histograms.at("read_service") = times({{120'000, 980}, {45'000'000, 21}});
    Reporter reporter(options_of("-xnq"));
    (void)reporter.report({device_with_histograms()});
    EXPECT_EQ(reporter.report({later}),
              "                    extended device statistics              \n"
              "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n"
              "  100.0   50.0  800.0  200.0  0.2  1.5    1.3   10.0  10  50 nbd0\n"
              "             percentiles of wait and service, ms      \n"
              "    w_p50    w_p99  w_p99.9    a_p50    a_p99  a_p99.9 device\n"
              "        -        -        -   50.000   50.000   50.000 nbd0\n");
}

TEST(IostatDistribution, ADeviceWithoutHistogramsHasADash) {
    EXPECT_EQ(report("-wL", {busy_device()}),
              "sd0                times -\n"
              "sd0              latency -\n");
    EXPECT_EQ(report("-wLr", {busy_device()}),
              wait_table_header(options_of("-wr")) + latency_table_header(options_of("-Lr")));
}

TEST(IostatDistribution, TablesStandBehindTheLinesAndBeforeTheListing) {
    Device device = device_with_histograms();
    device.errors = error_records();
    const std::string text = report("-xwLE", {device});
    const size_t lines = text.find("extended device statistics");
    const size_t waits = text.find("service");
    const size_t latency = text.find("density");
    const size_t listing = text.find("Soft Errors");
    EXPECT_LT(lines, waits);
    EXPECT_LT(waits, latency);
    EXPECT_LT(latency, listing);
    EXPECT_NE(listing, std::string::npos);
}

TEST(IostatDistribution, IdleDevicesAreHiddenOnDemand) {
    Reporter reporter(options_of("-wz"));
    EXPECT_NE(reporter.report({device_with_histograms()}), "");
    EXPECT_EQ(reporter.report({one_second_later(device_with_histograms())}), "");
}

TEST(IostatDistribution, AnEmptyIntervalHasItsHeaderAndNoPercentile) {
    Reporter reporter(options_of("-wL"));
    (void)reporter.report({device_with_histograms()});
    EXPECT_EQ(reporter.report({one_second_later(device_with_histograms())}),
              "nbd0               wait        service       total\n"
              "   from      to   read write   read write   read write\n"
              "            p50      -     -      -     -      -     -\n"
              "            p90      -     -      -     -      -     -\n"
              "            p99      -     -      -     -      -     -\n"
              "          p99.9      -     -      -     -      -     -\n"
              "            max      -     -      -     -      -     -\n"
              "nbd0             latency\n"
              "   from      to    count density cumulative\n");
}

// A histogram of another provider's shape has no place in the rows of the first.
TEST(IostatDistribution, AHistogramOfAnotherShapeThanTheFirstIsADash) {
    Device device = device_with_histograms();
    device.histograms.at("write_total") = powers({{70'900, 2}});
    EXPECT_NE(report("-w", {device}).find("  980     -\n"), std::string::npos)
        << report("-w", {device});
}

TEST(IostatDistribution, ACoarseShapeIsShownBucketByBucket) {
    Device device = busy_device();
    device.histograms = {{"read_total", powers({{1, 4}, {3, 5}, {1'000'000, 6}})}};
    const std::string table = report("-w", {device});
    EXPECT_NE(table.find("1ns     2ns"), std::string::npos) << table;
    EXPECT_NE(table.find("524us  1.05ms"), std::string::npos) << table;
}

TEST(IostatDistribution, AControllersDisksAreNotSummedUp) {
    Options options = options_of("-xwC");
    const Snapshot shown =
        select({device_with_histograms("c0t0d0"), busy_device("c0t1d0")}, options);
    ASSERT_EQ(shown.front().name, "c0");
    EXPECT_TRUE(shown.front().histograms.empty());
}

}  // namespace
}  // namespace blkscope::iostat
