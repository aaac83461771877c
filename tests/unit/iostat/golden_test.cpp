// Whole reports, character for character. In the expected text a '|' marks the end of a line, so
// that blanks before it are visible. The '|' is not printed.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "devices.hpp"
#include "tools/iostat/report.hpp"

namespace blkscope::iostat {
namespace {

std::string with_marks(const std::string& text) {
    std::string marked;
    for (const char c : text) marked += c == '\n' ? std::string("|\n") : std::string(1, c);
    return marked;
}

// The report of `iostat LETTERS` on the devices since their creation.
std::string whole_report(const std::string& letters, const Snapshot& devices) {
    const auto parsed = parse_options({"iostat", letters});
    const auto* options = std::get_if<Options>(&parsed);
    if (options == nullptr) return "refused";
    return with_marks(Reporter(*options).report(devices, two_processors()));
}

Snapshot both() {
    return {busy_device("sd0"), idle_device("sd1")};
}

Snapshot faulty(const std::string& name = "sd0") {
    Device device = busy_device(name);
    device.errors = error_records();
    return {device};
}

TEST(IostatGolden, TheDefaultIsTerminalsTransfersAndProcessors) {
    const std::string expected =
        "   tty        sd0           sd1            cpu|\n"
        " tin tout kps tps serv  kps tps serv   us sy dt id|\n"
        "   3  120 100  15   51    0   0    0    6  4  0 90|\n";
    EXPECT_EQ(whole_report("-s", both()), expected);
    EXPECT_EQ(whole_report("-dtc", both()), expected);
}

TEST(IostatGolden, EachHorizontalClassAlone) {
    EXPECT_EQ(whole_report("-d", both()),
              "    sd0           sd1       |\n"
              "kps tps serv  kps tps serv  |\n"
              "100  15   51    0   0    0  |\n");
    EXPECT_EQ(whole_report("-D", both()),
              "    sd0           sd1       |\n"
              "rps wps util  rps wps util  |\n"
              " 10   5 49.9    0   0  0.0  |\n");
    EXPECT_EQ(whole_report("-c", both()), "     cpu|\n us sy dt id|\n  6  4  0 90|\n");
    EXPECT_EQ(whole_report("-t", both()), "   tty    |\n tin tout |\n   3  120 |\n");
}

TEST(IostatGolden, TheExtendedReport) {
    EXPECT_EQ(whole_report("-x", both()),
              "                 extended device statistics                 |\n"
              "device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b |\n"
              "sd0      10.0    5.0   79.9   20.0  0.0  0.7   51.3   1  50 |\n"
              "sd1       0.0    0.0    0.0    0.0  0.0  0.0    0.0   0   0 |\n");
}

TEST(IostatGolden, TerminalsAndProcessorsGoOnBehindTheFirstDevice) {
    EXPECT_EQ(
        whole_report("-xtc", both()),
        "                 extended device statistics                    tty         cpu|\n"
        "device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b  tin tout  us sy dt id|\n"
        "sd0      10.0    5.0   79.9   20.0  0.0  0.7   51.3   1  50    3  120   6  4  0 90|\n"
        "sd1       0.0    0.0    0.0    0.0  0.0  0.0    0.0   0   0 |\n");
}

TEST(IostatGolden, TheyKeepTheirPlaceWhereTheFirstDeviceIsHidden) {
    const Snapshot idle_first{idle_device("sd0"), busy_device("sd1")};
    EXPECT_EQ(
        whole_report("-xtcz", idle_first),
        "                 extended device statistics                    tty         cpu|\n"
        "device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b  tin tout  us sy dt id|\n" +
            std::string(60, ' ') +
            "   3  120   6  4  0 90|\n"
            "sd1      10.0    5.0   79.9   20.0  0.0  0.7   51.3   1  50 |\n");
}

TEST(IostatGolden, WithNamesLastTheyAreABlockOfTheirOwn) {
    EXPECT_EQ(whole_report("-xntc", {busy_device("c1t0d0")}),
              "   tty         cpu|\n"
              " tin tout  us sy dt id|\n"
              "   3  120   6  4  0 90|\n"
              "                    extended device statistics              |\n"
              "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device|\n"
              "   10.0    5.0   79.9   20.0  0.0  0.7    1.3   50.0   1  50 c1t0d0|\n");
}

TEST(IostatGolden, ErrorsInEveryCombination) {
    const std::string alone =
        "           ---- errors --- |\n"
        "device  s/w h/w trn tot |\n"
        "sd0       1   2   3   6 |\n";
    EXPECT_EQ(whole_report("-e", faulty()), alone);
    EXPECT_TRUE(whole_report("-eE", faulty()).starts_with(alone));  // not two columns to the left
    EXPECT_EQ(whole_report("-en", faulty("c1t0d0")),
              "  ---- errors --- |\n"
              "  s/w h/w trn tot device|\n"
              "    1   2   3   6 c1t0d0|\n");
    EXPECT_EQ(whole_report("-xe", faulty()),
              "                         extended device statistics         ---- errors --- |\n"
              "device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b s/w h/w trn tot |\n"
              "sd0      10.0    5.0   79.9   20.0  0.0  0.7   51.3   1  50   1   2   3   6 |\n");
    EXPECT_EQ(
        whole_report("-xne", faulty("c1t0d0")),
        "                            extended device statistics       ---- errors --- |\n"
        "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b s/w h/w trn tot device|\n"
        "   10.0    5.0   79.9   20.0  0.0  0.7    1.3   50.0   1  50   1   2   3   6 c1t0d0|\n");
}

TEST(IostatGolden, ErrorsBesideTerminalsAndProcessors) {
    EXPECT_EQ(whole_report("-etc", faulty()),
              "           ---- errors ---    tty         cpu|\n"
              "device  s/w h/w trn tot  tin tout  us sy dt id|\n"
              "sd0       1   2   3   6    3  120   6  4  0 90|\n");
    EXPECT_EQ(whole_report("-et", {busy_device()}),
              "           ---- errors ---    tty    |\n"
              "device  s/w h/w trn tot  tin tout |\n"
              "sd0       0   0   0   0    3  120 |\n");
}

TEST(IostatGolden, TheListingOfErrors) {
    const std::string listing =
        "sd0       Soft Errors: 1 Hard Errors: 2 Transport Errors: 3 |\n"
        "Vendor: ATA Product: VBOX HARDDISK Revision: 1.0 Serial No: VB12345678 |\n"
        "Size: 17.18GB <17179869184 bytes>|\n"
        "Media Error: 0 Device Not Ready: 0 No Device: 0 Recoverable: 0 |\n"
        "Illegal Request: 4 Predictive Failure Analysis: 0 |\n";
    EXPECT_EQ(whole_report("-E", {faulty()[0], idle_device("sd1")}), listing);
    EXPECT_EQ(whole_report("-Ec", faulty()), "     cpu|\n us sy dt id|\n  6  4  0 90|\n" + listing);
}

TEST(IostatGolden, CommaSeparated) {
    EXPECT_EQ(whole_report("-xner", faulty()),
              "extended device statistics,errors|\n"
              "r/s,w/s,kr/s,kw/s,wait,actv,wsvc_t,asvc_t,%w,%b,s/w,h/w,trn,tot,device|\n"
              "10.0,5.0,79.9,20.0,0.0,0.7,1.3,50.0,1,50,1,2,3,6,sd0|\n");
    EXPECT_EQ(whole_report("-xtcr", both()),
              "extended device statistics,tty,cpu|\n"
              "device,r/s,w/s,kr/s,kw/s,wait,actv,svc_t,%w,%b,tin,tout,us,sy,dt,id|\n"
              "sd0,10.0,5.0,79.9,20.0,0.0,0.7,51.3,1,50,3,120,6,4,0,90|\n"
              "sd1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0,0|\n");
    EXPECT_EQ(whole_report("-r", both()),
              "tty,sd0,sd1,cpu|\n"
              "tin,tout,kps,tps,serv,kps,tps,serv,us,sy,dt,id|\n"
              "3,120,100,15,51,0,0,0,6,4,0,90|\n");
    EXPECT_EQ(whole_report("-er", faulty()), "errors|\ndevice,s/w,h/w,trn,tot|\nsd0,1,2,3,6|\n");
    EXPECT_EQ(whole_report("-Dr", both()),
              "sd0,sd1|\nrps,wps,util,rps,wps,util|\n10,5,49.9,0,0,0.0|\n");
}

TEST(IostatGolden, ThreeDecimalsOfAMillisecond) {
    EXPECT_EQ(whole_report("-xnu", {busy_device()}),
              "                      extended device statistics                |\n"
              "    r/s    w/s   kr/s   kw/s wait actv   wsvc_t   asvc_t  %w  %b device|\n"
              "   10.0    5.0   79.9   20.0  0.0  0.7    1.333   50.000   1  50 sd0|\n");
    EXPECT_EQ(whole_report("-xu", {busy_device()}),
              "                  extended device statistics                  |\n"
              "device    r/s    w/s   kr/s   kw/s wait actv    svc_t  %w  %b |\n"
              "sd0      10.0    5.0   79.9   20.0  0.0  0.7   51.333   1  50 |\n");
    EXPECT_EQ(whole_report("-du", both()),
              "      sd0               sd1         |\n"
              "kps tps     serv  kps tps     serv  |\n"
              "100  15   51.333    0   0    0.000  |\n");
}

TEST(IostatGolden, AMountPointStandsBehindTheNameAtTheEnd) {
    Device device = busy_device("sda");
    device.mount_point = "/var/lib";
    EXPECT_TRUE(whole_report("-xnm", {device}).ends_with("  50 sda (/var/lib)|\n"));
    EXPECT_TRUE(whole_report("-xm", {device})
                    .ends_with("\nsda      10.0    5.0   79.9   20.0  0.0  0.7 "
                               "  51.3   1  50 |\n"));
}

// The number of fields of a line, without the comma in the partition's name.
ptrdiff_t fields(const std::string& line) {
    return std::ranges::count(line, ',') + 1 - (line.find("sd0,a") != std::string::npos ? 1 : 0);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    size_t start = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
        lines.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return lines;
}

// The letters whose bit is set.
std::string subset(std::string_view letters, unsigned bits) {
    std::string chosen = "-r";
    for (size_t i = 0; i < letters.size(); ++i) {
        if ((bits >> i & 1) != 0) chosen += letters[i];
    }
    return chosen;
}

// With all options, the first line of data has a field for every heading. Later lines have only the
// devices' fields. The partition's name contains a comma, and is not quoted.
TEST(IostatGolden, ACommaSeparatedLineHasAFieldForEveryHeading) {
    constexpr std::string_view letters = "xdectnIMuz";
    const Snapshot devices{idle_device("sd0"), faulty("sd0,a")[0], busy_device("sd1")};
    for (unsigned bits = 0; bits < 1U << letters.size(); ++bits) {
        const auto parsed = parse_options({"iostat", subset(letters, bits)});
        ASSERT_TRUE(std::holds_alternative<Options>(parsed));
        const auto& options = std::get<Options>(parsed);
        const auto lines = lines_of(Reporter(options).report(devices, two_processors()));
        ASSERT_GE(lines.size(), 3u) << subset(letters, bits);
        EXPECT_EQ(fields(lines[1]), fields(lines[2])) << subset(letters, bits);
        const ptrdiff_t beside = (options.tty ? 2 : 0) + (options.cpu ? 4 : 0);
        if (!options.vertical() || options.names_last) continue;
        for (size_t i = 3; i < lines.size(); ++i) {
            EXPECT_EQ(fields(lines[i]), fields(lines[1]) - beside) << lines[i];
        }
    }
}

// The same law for columns, as long as no number is wider than its column.
TEST(IostatGolden, HeadersAndLinesAreEquallyLong) {
    constexpr std::string_view letters = "xdectMu";
    for (unsigned bits = 0; bits < 1U << letters.size(); ++bits) {
        const auto parsed = parse_options({"iostat", "-" + subset(letters, bits).substr(2)});
        ASSERT_TRUE(std::holds_alternative<Options>(parsed));
        const auto lines =
            lines_of(Reporter(std::get<Options>(parsed)).report(faulty(), two_processors()));
        ASSERT_EQ(lines.size(), 3u);
        EXPECT_EQ(lines[1].size(), lines[2].size()) << subset(letters, bits);
    }
}

}  // namespace
}  // namespace blkscope::iostat
