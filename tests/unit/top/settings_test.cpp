#include "tools/top/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace blkscope::top {
namespace {

std::vector<std::string> texts(const Settings& settings) {
    std::vector<std::string> texts;
    for (const SettingLine& line : setting_lines(settings)) {
        texts.push_back(line.text + line.counts);
    }
    return texts;
}

std::string drawn(const Settings& settings, int columns, int rows) {
    Screen screen({.columns = columns, .rows = 6});
    const int used = draw_settings(screen, 1, rows, settings);
    EXPECT_LE(used, std::max(rows, 0));
    EXPECT_EQ(screen.row_text(0), "");
    for (int y = 1 + used; y < 6; ++y) EXPECT_EQ(screen.row_text(y), "");
    std::string text;
    for (int y = 1; y <= used; ++y) text += screen.row_text(y) + '\n';
    return text;
}

Settings two_faults() {
    Settings settings;
    settings.faults = {{.id = "1", .rule = "read:error=EIO;chance=1/1000;count=5", .hits = 42},
                       {.id = "2", .rule = "write:hang", .hits = 0}};
    return settings;
}

TEST(TopSettings, ADeviceWithoutAnyHasNoLine) {
    EXPECT_TRUE(texts({}).empty());
    EXPECT_EQ(drawn({}, 80, 5), "");
}

TEST(TopSettings, EachHasItsLine) {
    Settings settings = two_faults();
    settings.model = {
        .spec = "read=exp:1ms", .seed = 7, .drawn = 4, .overruns = 2, .late_ns = 48'000};
    settings.limit = {.spec = "iops=100",
                      .buckets = {{.name = "iops", .level = -3, .exceeded_ns = 2'500'000'000}}};
    settings.client_limit = "iops=20";
    settings.crash_cache = "64M,torn";
    EXPECT_EQ(texts(settings),
              (std::vector<std::string>{"model read=exp:1ms, overruns 2, mean lateness 12us",
                                        "limit iops=100, iops level -3 exceeded 2.5s",
                                        "client-limit iops=20",
                                        "fault 1: read:error=EIO;chance=1/1000;count=5, hits 42",
                                        "fault 2: write:hang, hits 0", "crash-cache 64M,torn"}));
}

Settings behind_an_upstream(const char* state) {
    Settings settings;
    settings.upstream = {
        .state = state, .counts = {{"reconnects", 2}, {"resent", 7}}, .round_trip_ns = 36'000};
    return settings;
}

TEST(TopSettings, AnUpstreamHasItsStateAndItsCounts) {
    EXPECT_EQ(
        texts(behind_an_upstream("connected")),
        std::vector<std::string>{"upstream connected, reconnects 2, resent 7, round trip 36us"});
    Settings before_an_answer = behind_an_upstream("connected");
    before_an_answer.upstream->round_trip_ns.reset();
    EXPECT_EQ(texts(before_an_answer),
              std::vector<std::string>{"upstream connected, reconnects 2, resent 7"});
}

TEST(TopSettings, AnUpstreamThatIsNotConnectedIsAWarning) {
    EXPECT_FALSE(setting_lines(behind_an_upstream("connected")).front().warns);
    for (const char* state : {"waiting", "changed", "blocklisted", "", "later"}) {
        EXPECT_TRUE(setting_lines(behind_an_upstream(state)).front().warns) << state;
    }
}

TEST(TopSettings, AModelWithoutRequestsHasNoLatenessYet) {
    Settings settings;
    settings.model = {.spec = "read=exp:1ms"};
    EXPECT_EQ(texts(settings), std::vector<std::string>{"model read=exp:1ms, overruns 0"});
}

TEST(TopSettings, LevelsOfBytesAreSizes) {
    Settings settings;
    settings.limit = {.spec = "bps=100M,write_bps=1M",
                      .buckets = {{.name = "bps", .level = 64 << 20, .exceeded_ns = 0},
                                  {.name = "write_bps", .level = -(3 << 20), .exceeded_ns = 0}}};
    EXPECT_EQ(texts(settings), std::vector<std::string>{
                                   "limit bps=100M,write_bps=1M, bps level 64 MiB exceeded 0ms, "
                                   "write_bps level -3 MiB exceeded 0ms"});
    settings.limit->buckets = {{.name = "bps", .level = INT64_MIN, .exceeded_ns = 0}};
    EXPECT_EQ(setting_lines(settings)[0].counts, ", bps level -8 EiB exceeded 0ms");
}

TEST(TopSettings, ALongTextIsCutBeforeItsCounts) {
    EXPECT_EQ(drawn(two_faults(), 54, 5),
              "fault 1: read:error=EIO;chance=1/1000;count=5, hits 42\n"
              "fault 2: write:hang, hits 0\n");
    EXPECT_EQ(drawn(two_faults(), 53, 5),
              "fault 1: read:error=EIO;chance=1/1000;cou..., hits 42\n"
              "fault 2: write:hang, hits 0\n");
    EXPECT_EQ(drawn(two_faults(), 25, 5),
              "fault 1: read..., hits 42\n"
              "fault 2: write..., hits 0\n");
    EXPECT_EQ(drawn(two_faults(), 20, 5),
              "fault 1: read:error=\n"
              "fault 2: write:hang,\n");
}

TEST(TopSettings, LinesWithoutRoomAreCounted) {
    EXPECT_EQ(drawn(two_faults(), 80, 1).substr(0, 8), "fault 1:");
    EXPECT_EQ(drawn(two_faults(), 80, 0), "");
    EXPECT_EQ(drawn(two_faults(), 80, -1), "");
    Settings settings = two_faults();
    settings.crash_cache = "64M";
    EXPECT_EQ(drawn(settings, 80, 2),
              "fault 1: read:error=EIO;chance=1/1000;count=5, hits 42\n"
              "2 more: blkscope list -v\n");
}

}  // namespace
}  // namespace blkscope::top
