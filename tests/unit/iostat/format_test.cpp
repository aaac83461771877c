#include "tools/iostat/format.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <locale>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

Options options_with(Mode mode, bool names_last = false) {
    Options options;
    options.mode = mode;
    options.names_last = names_last;
    return options;
}

std::string line(const Device* before, const Device& now, const Options& options) {
    return vertical_line(now.name, figures(before, now, options), name_width_min, options);
}

TEST(IostatFormat, TheExtendedTitleIsCentredOverItsHeader) {
    EXPECT_EQ(vertical_header(6, options_with(Mode::extended)),
              "                 extended device statistics                 \n"
              "device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b \n");
    EXPECT_EQ(vertical_header(9, options_with(Mode::extended)),
              std::string(18, ' ') + "extended device statistics" + std::string(19, ' ') +
                  "\ndevice       r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b \n");
}

TEST(IostatFormat, WithNamesLastTheTitleHasSevenBlanksFewerBehindIt) {
    EXPECT_EQ(vertical_header(6, options_with(Mode::extended, true)),
              "                    extended device statistics              \n"
              "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n");
}

TEST(IostatFormat, ADeviceSinceItsCreation) {
    EXPECT_EQ(line(nullptr, busy_device(), options_with(Mode::extended)),
              "sd0      10.0    5.0   79.9   20.0  0.0  0.7   51.3   1  50 \n");
    EXPECT_EQ(line(nullptr, idle_device("sd1"), options_with(Mode::extended)),
              "sd1       0.0    0.0    0.0    0.0  0.0  0.0    0.0   0   0 \n");
    EXPECT_EQ(line(nullptr, busy_device("c1t0d0"), options_with(Mode::extended, true)),
              "   10.0    5.0   79.9   20.0  0.0  0.7    1.3   50.0   1  50 c1t0d0\n");
}

TEST(IostatFormat, ADeviceASecondLater) {
    const Device before = busy_device();
    const Device now = one_second_later(before);
    EXPECT_EQ(line(&before, now, options_with(Mode::extended, true)),
              "  100.0   50.0  800.0  200.0  0.2  1.5    1.3   10.0  10  50 sd0\n");
    EXPECT_EQ(line(&before, now, options_with(Mode::extended)),
              "sd0     100.0   50.0  800.0  200.0  0.2  1.5   11.3  10  50 \n");
    Options counts = options_with(Mode::extended);
    counts.counts = true;
    EXPECT_EQ(line(&before, now, counts),
              "sd0     100.0   50.0  800.0  200.0  0.2  1.5   11.3  10  50 \n");
    EXPECT_EQ(horizontal_line({figures(&before, now, {})}, {}), "1000 150   11  \n");
}

TEST(IostatFormat, CountsAndMegabytesRenameTheirColumnsOnly) {
    Options options = options_with(Mode::extended);
    options.counts = true;
    options.megabytes = true;
    EXPECT_EQ(vertical_header(6, options),
              "                 extended device statistics                 \n"
              "device    r/i    w/i   Mr/i   Mw/i wait actv  svc_t  %w  %b \n");
    options.mode = Mode::transfers;
    EXPECT_EQ(horizontal_header({idle_device("sd0")}, options), "    sd0       \nMpi tpi serv  \n");
    options.mode = Mode::rates;
    EXPECT_EQ(horizontal_header({idle_device("sd0")}, options), "    sd0       \nrpi wpi util  \n");
}

TEST(IostatFormat, ALeadingNameIsCutAtTheWidthAndATrailingOneIsWhole) {
    const std::string name = "abcdefghijklmnopqrstuvwxyz0123";
    const Figures f = figures(nullptr, idle_device(name), {});
    EXPECT_TRUE(vertical_line(name, f, name_width_max, options_with(Mode::extended))
                    .starts_with("abcdefghijklmnopqrstuvwx    0.0"));
    EXPECT_TRUE(vertical_line(name, f, name_width_max, options_with(Mode::extended, true))
                    .ends_with(" " + name + "\n"));
}

TEST(IostatFormat, ABlankSeparatesFieldsThatOutgrowTheirColumns) {
    Device device = idle_device("sd0");
    device.snaptime = device.crtime + one_second;
    device.io.reads = 1'234'567;
    device.io.nread = 10'000ULL * 1024 * 1024;
    EXPECT_EQ(line(nullptr, device, options_with(Mode::extended)),
              "sd0    1234567.0    0.0 10240000.0    0.0  0.0  0.0    0.0   0   0 \n");
}

TEST(IostatFormat, HorizontalBlocksAreFourteenWideWithTheNameCentred) {
    EXPECT_EQ(horizontal_header({idle_device("sd0"), idle_device("sd1")}, {}),
              "    sd0           sd1       \n"
              "kps tps serv  kps tps serv  \n");
    EXPECT_EQ(horizontal_header({idle_device("abcdefghijklmnopqrst"), idle_device("nbd10")}, {}),
              "abcdefghijklm    nbd10      \n"
              "kps tps serv  kps tps serv  \n");
    EXPECT_EQ(horizontal_header({idle_device("sd0")}, options_with(Mode::rates)),
              "    sd0       \nrps wps util  \n");
}

TEST(IostatFormat, HorizontalLines) {
    const std::vector<Figures> both{figures(nullptr, busy_device(), {}),
                                    figures(nullptr, idle_device("sd1"), {})};
    EXPECT_EQ(horizontal_line(both, {}), "100  15   51    0   0    0  \n");
    EXPECT_EQ(horizontal_line(both, options_with(Mode::rates)), " 10   5 49.9    0   0  0.0  \n");
}

TEST(IostatFormat, CommaSeparatedFieldsAreNotPadded) {
    Options options = options_with(Mode::extended);
    options.comma_separated = true;
    EXPECT_EQ(vertical_header(24, options),
              "extended device statistics\ndevice,r/s,w/s,kr/s,kw/s,wait,actv,svc_t,%w,%b\n");
    EXPECT_EQ(line(nullptr, busy_device(), options), "sd0,10.0,5.0,79.9,20.0,0.0,0.7,51.3,1,50\n");
    options.names_last = true;
    EXPECT_EQ(vertical_header(24, options),
              "extended device statistics\n"
              "r/s,w/s,kr/s,kw/s,wait,actv,wsvc_t,asvc_t,%w,%b,device\n");
    EXPECT_EQ(line(nullptr, busy_device(), options),
              "10.0,5.0,79.9,20.0,0.0,0.7,1.3,50.0,1,50,sd0\n");
    options.mode = Mode::rates;
    EXPECT_EQ(horizontal_header({idle_device("sd0"), idle_device("sd1")}, options),
              "sd0,sd1\nrps,wps,util,rps,wps,util\n");
    EXPECT_EQ(horizontal_line({figures(nullptr, busy_device(), options)}, options), "10,5,49.9\n");
}

struct DecimalComma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
};

TEST(IostatFormat, NumbersHaveAPointInEveryLocale) {
    const std::locale before = std::locale::global(std::locale(std::locale(), new DecimalComma));
    const std::string text = line(nullptr, busy_device(), options_with(Mode::extended));
    std::locale::global(before);
    EXPECT_EQ(text, "sd0      10.0    5.0   79.9   20.0  0.0  0.7   51.3   1  50 \n");
}

TEST(IostatFormat, ADeviceIsIdleBelowATenthInEveryColumn) {
    Device device = idle_device("sd0");
    device.snaptime = device.crtime + 100 * one_second;
    EXPECT_TRUE(is_idle(figures(nullptr, device, {}), {}));
    device.io.reads = 9;  // 0.09/s
    EXPECT_TRUE(is_idle(figures(nullptr, device, {}), {}));
    device.io.reads = 10;  // 0.1/s
    EXPECT_FALSE(is_idle(figures(nullptr, device, {}), {}));
}

TEST(IostatFormat, EachColumnAloneMakesADeviceBusy) {
    const auto busy = [](auto change) {
        Device device = idle_device("sd0");
        device.snaptime = device.crtime + one_second;
        change(device.io);
        return !is_idle(figures(nullptr, device, {}), {});
    };
    EXPECT_TRUE(busy([](kstat_io_t& io) { io.reads = 1; }));
    EXPECT_TRUE(busy([](kstat_io_t& io) { io.writes = 1; }));
    EXPECT_TRUE(busy([](kstat_io_t& io) { io.nread = 103; }));
    EXPECT_TRUE(busy([](kstat_io_t& io) { io.nwritten = 103; }));
    EXPECT_TRUE(busy([](kstat_io_t& io) { io.wlentime = one_second / 10; }));
    EXPECT_TRUE(busy([](kstat_io_t& io) { io.rlentime = one_second / 10; }));
    EXPECT_TRUE(busy([](kstat_io_t& io) { io.wtime = one_second / 1000; }));
    EXPECT_TRUE(busy([](kstat_io_t& io) { io.rtime = one_second / 1000; }));
    EXPECT_TRUE(busy([](kstat_io_t& io) { io.rtime = -1; }));  // out of range, so shown
    EXPECT_FALSE(busy([](kstat_io_t& io) { io.nread = 102; }));
}

}  // namespace
}  // namespace blkscope::iostat
