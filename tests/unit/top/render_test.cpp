// Whole screens of several sizes, compared with the files in screens/.

#include "tools/top/render.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "looks.hpp"
#include "tools/top/session.hpp"

namespace blkscope::top {
namespace {

constexpr Style plain{.utf8 = false, .color = false};
constexpr Style rich{.utf8 = true, .color = true};

// Half a minute of three devices. One has a burst that queues, one is slow, and one is idle.
Session busy_session() {
    Session session(one_second, "no devices in /run/kstat");
    std::vector<DeviceLook> devices{idle_look("nbd0"), idle_look("nbd1"), idle_look("nbd2")};
    devices[1].size_bytes = uint64_t{2} << 40;
    devices[1].clients = 3;
    session.take(look_at(first_look, devices));
    for (int i = 1; i <= 30; ++i) {
        const bool burst = i >= 12 && i < 20;
        do_reads(devices[0], burst ? 4000 : 400, burst ? 2'000'000 : 3'000, 40'000);
        do_reads(devices[0], 40, 30'000, burst ? 150'000 : 20'000);
        do_reads(devices[1], 60, 1'500, 15'000'000);
        session.take(look_at(first_look + i * one_second, devices));
    }
    return session;
}

// Two devices. The first has more settings than a usual terminal has room for.
Session session_with_settings() {
    DeviceLook nbd0 = idle_look("nbd0");
    nbd0.settings.model = {.spec = "read=lognormal:110us:0.4,write=lognormal:30us:0.5,servers=8",
                           .seed = 7,
                           .drawn = 2000,
                           .overruns = 3,
                           .late_ns = 24'000'000};
    nbd0.settings.limit = {.spec = "iops=500,bps=1048576",
                           .buckets = {{.name = "iops", .level = 12, .exceeded_ns = 1'500'000'000},
                                       {.name = "bps", .level = -4096, .exceeded_ns = 0}}};
    nbd0.settings.client_limit = "iops=20";
    nbd0.settings.faults = {{.id = "1", .rule = "read:error=EIO;chance=1/100", .hits = 4},
                            {.id = "3", .rule = "write:delay=20ms", .hits = 0}};
    Session session(one_second, "no devices in /run/kstat");
    session.take(look_at(first_look, {nbd0, idle_look("nbd1")}));
    for (int i = 1; i <= 3; ++i) {
        do_reads(nbd0, 400, 3'000, 40'000);
        session.take(look_at(first_look + i * one_second, {nbd0, idle_look("nbd1")}));
    }
    return session;
}

std::string golden(const std::string& name) {
    std::ifstream file(std::string(GOLDEN_SCREENS) + "/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

void expect_golden(const std::string& name, const Screen& screen) {
    EXPECT_EQ(screen.text(), golden(name)) << name << " is now:\n" << screen.text();
}

TEST(TopRender, TheUsualTerminal) {
    expect_golden("80x24", busy_session().render({.columns = 80, .rows = 24}, rich));
}

TEST(TopRender, TheUsualTerminalWithoutUtf8AndColors) {
    expect_golden("80x24-ascii", busy_session().render({.columns = 80, .rows = 24}, plain));
}

TEST(TopRender, ALargeTerminal) {
    expect_golden("200x50", busy_session().render({.columns = 200, .rows = 50}, rich));
}

TEST(TopRender, ASmallTerminal) {
    expect_golden("40x10", busy_session().render({.columns = 40, .rows = 10}, plain));
}

TEST(TopRender, TheSettingsAreUnderTheTable) {
    const Session session = session_with_settings();
    expect_golden("80x24-settings", session.render({.columns = 80, .rows = 24}, plain));
    expect_golden("100x36-settings", session.render({.columns = 100, .rows = 36}, plain));
    expect_golden("40x10-settings", session.render({.columns = 40, .rows = 10}, plain));
}

TEST(TopRender, TheHeaderHasTheBackingAndTheExport) {
    DeviceLook nbd0 = idle_look("nbd0");
    const auto header = [&](int columns) {
        Session session(one_second, "no devices in /run/kstat");
        session.take(look_at(first_look, {nbd0}));
        return session.render({.columns = columns, .rows = 24}, plain).row_text(0);
    };
    nbd0.settings.source = {.export_name = "scratch", .backing = "disk.img"};
    EXPECT_NE(header(120).find("  disk.img  export scratch"), std::string::npos) << header(120);
    nbd0.settings.source = {.export_name = "disk.img", .backing = "disk.img"};
    EXPECT_EQ(header(120).find("export"), std::string::npos) << header(120);
    nbd0.settings.source->backing = std::string(100, 'x');  // has no room
    EXPECT_NE(header(80).find("  up "), std::string::npos) << header(80);
}

TEST(TopRender, ADeviceWithoutSettingsHasNoLineForThem) {
    Session session = session_with_settings();
    session.press('2');
    const Screen screen = session.render({.columns = 80, .rows = 24}, plain);
    EXPECT_TRUE(screen.row_text(4).starts_with("wait ")) << screen.text();
}

TEST(TopRender, TheHelpFitsTheUsualTerminal) {
    Session session = busy_session();
    session.press('h');
    const Screen screen = session.render({.columns = 80, .rows = 24}, rich);
    expect_golden("help", screen);
    EXPECT_EQ(screen.row_text(23), "Any key goes back.");
}

// All sizes from zero to the usual: render() draws what has room, and never writes outside.
TEST(TopRender, AnySizeWillDo) {
    for (Session session : {busy_session(), session_with_settings()}) {
        for (const bool help : {false, true}) {
            for (int columns = 0; columns <= 82; ++columns) {
                for (int rows = 0; rows <= 26; ++rows) {
                    const Screen screen = session.render({.columns = columns, .rows = rows}, rich);
                    ASSERT_EQ(screen.size(), (Size{.columns = columns, .rows = rows}));
                }
            }
            if (!help) session.press('h');
        }
    }
}

TEST(TopRender, TheP99IsThereAsLongAsThereIsALineForIt) {
    for (const Session& session : {busy_session(), session_with_settings()}) {
        for (int rows = 5; rows <= 40; ++rows) {
            const std::string text = session.render({.columns = 80, .rows = rows}, plain).text();
            EXPECT_NE(text.find("p99 "), std::string::npos) << rows << ":\n" << text;
        }
    }
}

TEST(TopRender, WaitIsAboveService) {
    const std::string text = busy_session().render({.columns = 80, .rows = 24}, plain).text();
    const size_t wait = text.find("\nwait ");
    const size_t service = text.find("\nservice ");
    ASSERT_NE(wait, std::string::npos);
    ASSERT_NE(service, std::string::npos);
    EXPECT_LT(wait, service);
}

TEST(TopRender, StagesOnTheConnectionAreAroundThoseOfTheDevice) {
    DeviceLook nbd0 = idle_look("nbd0");
    nbd0.latencies.receive.resize(decades()->size());
    nbd0.latencies.reply.resize(decades()->size());
    Session session(one_second, "no devices in /run/kstat");
    session.take(look_at(first_look, {nbd0}));
    do_reads(nbd0, 400, 3'000, 40'000);
    nbd0.latencies.receive[1] = 400;
    nbd0.latencies.reply[2] = 400;
    session.take(look_at(first_look + one_second, {nbd0}));
    const std::string text = session.render({.columns = 80, .rows = 24}, plain).text();
    const size_t receive = text.find("\nreceive  p99 10us p50 10us");
    const size_t wait = text.find("\nwait ");
    const size_t service = text.find("\nservice ");
    const size_t reply = text.find("\nreply    p99 100us p50 100us");
    ASSERT_NE(reply, std::string::npos) << text;
    EXPECT_LT(receive, wait) << text;
    EXPECT_LT(wait, service);
    EXPECT_LT(service, reply);
    const std::string small = session.render({.columns = 80, .rows = 12}, plain).text();
    EXPECT_EQ(small.find("\nreply"), std::string::npos) << small;
    EXPECT_NE(small.find("\nservice"), std::string::npos) << small;
}

TEST(TopRender, HotterCellsHaveHotterColors) {
    const Screen screen = busy_session().render({.columns = 80, .rows = 24}, rich);
    bool hottest = false;
    for (int y = 0; y < 24; ++y) {
        for (int x = 0; x < 80; ++x) {
            const Cell& cell = screen.at(x, y);
            if (cell.glyph == U'\u2588') {
                EXPECT_GE(cell.role, heat_role(heat_levels - 1));
                hottest = true;
            }
            if (cell.glyph == U'\u2591') {
                EXPECT_LE(cell.role, heat_role(2));
                EXPECT_GE(cell.role, heat_role(1));
            }
        }
    }
    EXPECT_TRUE(hottest);
}

TEST(TopRender, ThresholdsAreColored) {
    const Screen screen = busy_session().render({.columns = 80, .rows = 24}, rich);
    const std::string row = screen.row_text(3);  // nbd1, 15 ms a read
    const size_t asvc = row.find("15.000");
    ASSERT_NE(asvc, std::string::npos) << row;
    EXPECT_EQ(screen.at(static_cast<int>(asvc), 3).role, Role::warning);
}

TEST(TopRender, AsciiMeansAscii) {
    const Screen screen = busy_session().render({.columns = 80, .rows = 24}, plain);
    for (int y = 0; y < 24; ++y) {
        for (int x = 0; x < 80; ++x) EXPECT_LT(screen.at(x, y).glyph, U'\x7f');
    }
}

TEST(TopRender, ADeviceWithoutHistogramsIsSaidToHaveNone) {
    DeviceLook sd0 = idle_look("sd0");
    sd0.latencies = {};
    sd0.clients.reset();
    Session session(one_second, "no devices in /run/kstat");
    session.take(look_at(first_look, {sd0}));
    const std::string text = session.render({.columns = 80, .rows = 24}, plain).text();
    EXPECT_NE(text.find("\nsd0 publishes no latency histograms\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("client"), std::string::npos);
}

TEST(TopRender, TheFirstScreenSaysThatItIsSinceTheCreation) {
    Session session(one_second, "no devices in /run/kstat");
    session.take(look_at(first_look, {idle_look("nbd0")}));
    const Screen screen = session.render({.columns = 80, .rows = 24}, plain);
    EXPECT_TRUE(screen.row_text(0).ends_with("since creation")) << screen.row_text(0);
}

TEST(TopRender, DevicesThatHaveNoRoomAreCounted) {
    std::vector<DeviceLook> devices;
    for (int i = 0; i < 20; ++i) devices.push_back(idle_look("nbd" + std::to_string(i)));
    Session session(one_second, "no devices in /run/kstat");
    session.take(look_at(first_look, devices));
    const Screen screen = session.render({.columns = 80, .rows = 24}, plain);
    EXPECT_TRUE(screen.row_text(23).starts_with("13 more  ")) << screen.row_text(23);
}

}  // namespace
}  // namespace blkscope::top
