#include "tools/iostat/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "devices.hpp"
#include "tools/iostat/interval.hpp"

namespace blkscope::iostat {
namespace {

Options extended(bool names_last = false) {
    Options options;
    options.mode = Mode::extended;
    options.names_last = names_last;
    return options;
}

size_t lines_in(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(IostatReport, TheFirstCoversTheDevicesLifeAndTheNextTheInterval) {
    Reporter reporter(extended(true));
    const Snapshot first{busy_device(), idle_device("sd1")};
    EXPECT_EQ(reporter.report(first),
              "                    extended device statistics              \n"
              "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n"
              "   10.0    5.0   79.9   20.0  0.0  0.7    1.3   50.0   1  50 sd0\n"
              "    0.0    0.0    0.0    0.0  0.0  0.0    0.0    0.0   0   0 sd1\n");
    EXPECT_EQ(reporter.report({one_second_later(first[0]), first[1]}),
              "                    extended device statistics              \n"
              "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n"
              "  100.0   50.0  800.0  200.0  0.2  1.5    1.3   10.0  10  50 sd0\n"
              "    0.0    0.0    0.0    0.0  0.0  0.0    0.0    0.0   0   0 sd1\n");
}

TEST(IostatReport, AfterAChangeEveryDeviceIsReportedSinceItsCreation) {
    Reporter reporter(extended());
    const Device sd0 = busy_device();
    const std::string since_creation =
        "sd0      10.0    5.0   79.9   20.0  0.0  0.7   51.3   1  50 \n";
    EXPECT_TRUE(reporter.report({sd0}).ends_with(since_creation));
    EXPECT_EQ(reporter.report({sd0, idle_device("sd1")}),
              "<<disk added: sd1>>\n"
              "                 extended device statistics                 \n"
              "device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b \n" +
                  since_creation +
                  "sd1       0.0    0.0    0.0    0.0  0.0  0.0    0.0   0   0 \n");
    EXPECT_TRUE(reporter.report({sd0}).starts_with("<<disk removed: sd1>>\n"));
}

TEST(IostatReport, SilentChangesStillStartOver) {
    Options options = extended();
    options.changes_silent = true;
    Reporter reporter(options);
    const std::string alone = reporter.report({busy_device()});
    const std::string joined = reporter.report({busy_device(), idle_device("sd1")});
    EXPECT_EQ(joined.substr(0, alone.size()), alone);
}

// Two reports, between which sd1 was replaced by another sd1 of ten seconds, and sd0 worked on.
std::string report_after_replacement(const Options& options) {
    Reporter reporter(options);
    (void)reporter.report({busy_device("sd0"), busy_device("sd1")});
    Device anew = busy_device("sd1");
    anew.crtime = anew.snaptime - 10 * one_second;
    return reporter.report({one_second_later(busy_device("sd0")), anew});
}

TEST(IostatReport, ADeviceCreatedAnewIsTold) {
    const std::string text = report_after_replacement(extended());
    EXPECT_TRUE(text.starts_with("<<disk removed: sd1>>\n<<disk added: sd1>>\n")) << text;
    EXPECT_NE(text.find("\nsd0      10.9 "), std::string::npos) << text;  // since creation
    EXPECT_NE(text.find("\nsd1     100.0 "), std::string::npos) << text;
}

TEST(IostatReport, WithoutAFirstReportADeviceCreatedAnewCountsFromItsCreationAndTheOthersGoOn) {
    Options options = extended();
    options.first_skipped = true;
    const std::string text = report_after_replacement(options);
    EXPECT_NE(text.find("\nsd0     100.0   50.0 "), std::string::npos) << text;
    EXPECT_NE(text.find("\nsd1     100.0   50.0  800.0  200.0  0.2  7.5   51.3  10 500 \n"),
              std::string::npos)
        << text;
}

TEST(IostatReport, TwoProvidersMayPublishOneName) {
    Device one = idle_device("sd0");
    Device other = busy_device("sd0");
    one.kid = 7;
    other.kid = 8;
    other.crtime += one_second;
    Reporter reporter(extended());
    (void)reporter.report({one, other});
    one.snaptime += one_second;
    const std::string text = reporter.report({one, one_second_later(other)});
    EXPECT_NE(text.find("\nsd0       0.0    0.0    0.0    0.0  0.0  0.0    0.0   0   0 \n"
                        "sd0     100.0   50.0  800.0  200.0  0.2  1.5   11.3  10  50 \n"),
              std::string::npos)
        << text;
}

TEST(IostatReport, ADeviceOfATakenNameShowsItsProvider) {
    Device one = idle_device("sd0");
    one.at_provider = "@4711";
    const std::string text = Reporter(extended()).report({one});
    EXPECT_NE(text.find("\nsd0@4711 "), std::string::npos) << text;
}

// The names of readers change when another provider with such a device comes or ends.
TEST(IostatReport, ADeviceThatGotAnotherUniqueNameGoesOn) {
    Device before = busy_device("sd0");
    before.kid = 7;
    Device now = one_second_later(before);
    now.name = "sd0@4711";
    const Snapshot earlier{before};
    const Snapshot devices{now};
    const Processors none;
    const Interval interval{&earlier, devices, nullptr, none};
    EXPECT_EQ(interval.before(devices[0]), &earlier[0]);
}

TEST(IostatReport, TheHeaderIsRebuiltForALongerNameAndNeverShrinks) {
    Reporter reporter(extended());
    (void)reporter.report({idle_device("sd0")});
    const std::string wide = reporter.report({idle_device("sd0"), idle_device("longname10")});
    EXPECT_NE(wide.find("\ndevice        r/s "), std::string::npos) << wide;
    EXPECT_NE(wide.find("\nsd0           0.0 "), std::string::npos) << wide;
    const std::string after = reporter.report({idle_device("sd0")});
    EXPECT_NE(after.find("\nsd0           0.0 "), std::string::npos) << after;
}

TEST(IostatReport, WithoutDevicesAnExtendedReportIsItsHeaders) {
    EXPECT_EQ(Reporter(extended()).report({}),
              "                 extended device statistics                 \n"
              "device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b \n");
    EXPECT_EQ(Reporter(Options{}).report({}), "");
}

TEST(IostatReport, IdleDevicesAreLeftOutOfAnExtendedReportOnly) {
    Options options = extended();
    options.idle_hidden = true;
    EXPECT_EQ(Reporter(options).report({idle_device("sd0"), idle_device("sd1")}),
              "                 extended device statistics                 \n"
              "device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b \n");
    options.mode = Mode::transfers;
    EXPECT_EQ(Reporter(options).report({idle_device("sd0")}),
              "    sd0       \nkps tps serv  \n  0   0    0  \n");
}

TEST(IostatReport, IdlenessIsJudgedByWhatIsPrinted) {
    Options options = extended();
    options.idle_hidden = true;
    Device once = idle_device("sd0");
    once.io.reads = 5;  // 0.05/s
    EXPECT_EQ(lines_in(Reporter(options).report({once})), 2u);
    options.counts = true;
    EXPECT_EQ(lines_in(Reporter(options).report({once})), 3u);
}

TEST(IostatReport, AHorizontalHeaderStandsOverNineteenReports) {
    Reporter reporter(Options{});
    for (int number = 1; number <= 58; ++number) {
        const bool header = number == 1 || number == 20 || number == 39 || number == 58;
        EXPECT_EQ(lines_in(reporter.report({busy_device()})), header ? 3u : 1u) << number;
    }
}

TEST(IostatReport, AChangeDoesNotCallForAHorizontalHeader) {
    Reporter reporter(Options{});
    EXPECT_EQ(reporter.report({busy_device()}), "    sd0       \nkps tps serv  \n100  15   51  \n");
    EXPECT_EQ(reporter.report({busy_device(), idle_device("sd1")}),
              "<<disk added: sd1>>\n100  15   51    0   0    0  \n");
}

TEST(IostatReport, ACommaSeparatedHorizontalHeaderIsPrintedOnce) {
    Options options;
    options.comma_separated = true;
    Reporter reporter(options);
    EXPECT_EQ(reporter.report({busy_device()}), "sd0\nkps,tps,serv\n100,15,51\n");
    for (int number = 2; number <= 40; ++number) {
        EXPECT_EQ(lines_in(reporter.report({busy_device()})), 1u);
    }
    EXPECT_EQ(reporter.header_again(), "");
}

Options without_the_first() {
    Options options = extended();
    options.first_skipped = true;
    return options;
}

TEST(IostatReport, TheReportSinceTheCreationCanBeSkipped) {
    Reporter reporter(without_the_first());
    EXPECT_EQ(reporter.report({busy_device()}), "");
    EXPECT_TRUE(reporter.report({one_second_later(busy_device())})
                    .ends_with("sd0     100.0   50.0  800.0  200.0  0.2  1.5   11.3  10  50 \n"));
}

TEST(IostatReport, WhereItIsSkippedAChangeDoesNotBringItBack) {
    Reporter reporter(without_the_first());
    (void)reporter.report({busy_device()});
    const std::string text = reporter.report({one_second_later(busy_device()), idle_device("sd1")});
    EXPECT_TRUE(text.starts_with("<<disk added: sd1>>\n")) << text;
    EXPECT_NE(text.find("\nsd0     100.0   50.0 "), std::string::npos) << text;
}

TEST(IostatReport, AfterAChangeOfTheProcessorsEverythingIsSinceTheCreation) {
    Options options = extended();
    options.cpu = true;
    Reporter reporter(options);
    (void)reporter.report({busy_device()}, two_processors());
    Processors one = two_processors();
    one.pop_back();
    const std::string text = reporter.report({one_second_later(busy_device())}, one);
    EXPECT_TRUE(text.starts_with("<<processors removed: 1>>\n")) << text;
    EXPECT_EQ(text.find("100.0   50.0"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("  6  4  0 90\n")) << text;
}

TEST(IostatReport, WithoutDevicesTerminalsAndProcessorsAreShownAllTheSame) {
    Options options;
    options.cpu = true;
    EXPECT_EQ(Reporter(options).report({}, two_processors()),
              "     cpu\n us sy dt id\n  6  4  0 90\n");
    options.mode = Mode::none;
    EXPECT_EQ(Reporter(options).report({busy_device()}, two_processors()),
              "     cpu\n us sy dt id\n  6  4  0 90\n");
    options.mode = Mode::extended;
    EXPECT_TRUE(Reporter(options).report({}, two_processors()).ends_with("     6  4  0 90\n"));
}

TEST(IostatReport, WithErrorsADeviceIsIdleOnlyIfItHasNone) {
    Options options = extended();
    options.idle_hidden = true;
    Device faulty = idle_device("sd0");
    faulty.errors = error_records();
    EXPECT_EQ(lines_in(Reporter(options).report({faulty})), 2u);
    options.errors = true;
    EXPECT_EQ(lines_in(Reporter(options).report({faulty})), 3u);
}

TEST(IostatReport, ControllersAndSummedPathsHaveNoListing) {
    Options options;
    options.mode = Mode::none;
    options.listing = true;
    Device sum = idle_device("ssd0.fp0", Kind::path);
    sum.errors = {{"", 2U}, {"", 0U}, {"", 0U}};
    sum.members = 2;
    EXPECT_EQ(Reporter(options).report({sum}), "");
}

TEST(IostatReport, AContinuedTerminalGetsTheHorizontalHeaderAgain) {
    Reporter reporter(Options{});
    EXPECT_EQ(reporter.header_again(), "");
    for (int number = 1; number <= 10; ++number) (void)reporter.report({busy_device()});
    EXPECT_EQ(reporter.header_again(), "    sd0       \nkps tps serv  \n");
    for (int number = 1; number <= 19; ++number) {
        EXPECT_EQ(lines_in(reporter.report({busy_device()})), 1u) << number;
    }
    EXPECT_EQ(lines_in(reporter.report({busy_device()})), 3u);

    Reporter vertical(extended());
    (void)vertical.report({busy_device()});
    EXPECT_EQ(vertical.header_again(), "");
}

}  // namespace
}  // namespace blkscope::iostat
