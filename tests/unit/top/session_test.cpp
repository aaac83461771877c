#include "tools/top/session.hpp"

#include <gtest/gtest.h>

#include "looks.hpp"

namespace blkscope::top {
namespace {

constexpr Size usual{.columns = 80, .rows = 24};

class TopSession : public testing::Test {
  protected:
    void take(const std::vector<std::string>& names) {
        std::vector<DeviceLook> devices;
        for (const std::string& name : names) devices.push_back(idle_look(name));
        session_.take(look_at(now_ += one_second, devices));
    }

    [[nodiscard]] std::string screen() const { return session_.render(usual, {}).text(); }
    [[nodiscard]] bool shows(const std::string& text) const {
        return screen().find(text) != std::string::npos;
    }
    /// The name of the device whose heatmaps are shown.
    [[nodiscard]] std::string selected() const {
        const std::string row = session_.render(usual, {}).row_text(0);
        return row.substr(0, row.find("  "));
    }

    Session session_{one_second, "no devices in /run/kstat"};
    hrtime_t now_ = first_look;
};

TEST_F(TopSession, QQuits) {
    EXPECT_EQ(session_.press('q'), Answer::quit);
    EXPECT_EQ(session_.press('h'), Answer::draw);
    EXPECT_EQ(session_.press('q'), Answer::quit);
}

TEST_F(TopSession, AKeyWithoutMeaningDoesNothing) {
    take({"nbd0"});
    const std::string before = screen();
    EXPECT_EQ(session_.press('x'), Answer::nothing);
    EXPECT_EQ(session_.press('\x1b'), Answer::nothing);
    EXPECT_EQ(screen(), before);
}

TEST_F(TopSession, ADigitChoosesTheDeviceOfThatLine) {
    take({"nbd0", "nbd1", "nbd2"});
    EXPECT_EQ(selected(), "nbd0");
    EXPECT_EQ(session_.press('3'), Answer::draw);
    EXPECT_EQ(selected(), "nbd2");
    session_.press('9');  // there is no ninth device
    EXPECT_EQ(selected(), "nbd2");
}

TEST_F(TopSession, ArrowsMoveFromDeviceToDeviceAndStopAtTheEnds) {
    take({"nbd0", "nbd1"});
    session_.press('k');
    EXPECT_EQ(selected(), "nbd0");
    session_.press('j');
    session_.press('j');
    EXPECT_EQ(selected(), "nbd1");
}

TEST_F(TopSession, TheChosenDeviceStaysChosenWhenOthersComeAndTheOrderChanges) {
    take({"nbd3", "nbd5"});
    session_.press('2');
    take({"nbd1", "nbd3", "nbd5"});
    EXPECT_EQ(selected(), "nbd5");
    session_.press('s');
    EXPECT_TRUE(shows("sort: r/s+w/s"));
    EXPECT_EQ(selected(), "nbd5");
}

TEST_F(TopSession, SpaceFreezesTheScreenAndNotWhatIsTakenIn) {
    take({"nbd0"});
    session_.press(' ');
    EXPECT_TRUE(session_.frozen());
    EXPECT_TRUE(shows("FROZEN"));
    const std::string frozen = screen();
    take({"nbd0", "nbd1"});
    EXPECT_EQ(screen(), frozen);
    session_.press(' ');
    EXPECT_FALSE(shows("FROZEN"));
    EXPECT_TRUE(shows("disk added: nbd1"));
}

TEST_F(TopSession, AFrozenScreenCanBeLookedAround) {
    take({"nbd0", "nbd1"});
    session_.press(' ');
    take({"nbd0"});
    session_.press('2');
    EXPECT_EQ(selected(), "nbd1");
}

TEST_F(TopSession, AnyKeyLeavesTheHelp) {
    take({"nbd0"});
    for (const char key : {'h', '?', 'x', ' '}) {
        EXPECT_EQ(session_.press('?'), Answer::draw);
        EXPECT_TRUE(shows("Not to be misread"));
        EXPECT_EQ(session_.press(key), Answer::draw);
        EXPECT_FALSE(shows("Not to be misread"));
        EXPECT_FALSE(session_.frozen());
    }
}

TEST_F(TopSession, PlusAndMinusChangeTheInterval) {
    take({"nbd0"});
    take({"nbd0"});
    EXPECT_TRUE(shows("every 1s"));
    EXPECT_EQ(session_.press('+'), Answer::interval);
    EXPECT_EQ(session_.interval_ns(), 2 * one_second);
    EXPECT_EQ(session_.press('-'), Answer::interval);
    EXPECT_EQ(session_.press('-'), Answer::interval);
    EXPECT_EQ(session_.interval_ns(), one_second / 2);
    EXPECT_TRUE(shows("every 500ms"));
}

TEST_F(TopSession, TheIntervalHasBounds) {
    EXPECT_EQ(shorter_interval(one_second / 10), one_second / 10);
    EXPECT_EQ(longer_interval(60 * one_second), 60 * one_second);
    EXPECT_EQ(longer_interval(3000 * one_second), 3000 * one_second);
    EXPECT_EQ(shorter_interval(3000 * one_second), 60 * one_second);
    EXPECT_EQ(longer_interval(one_second / 4), one_second / 2);
    EXPECT_EQ(shorter_interval(one_second / 4), one_second / 5);
    for (int i = 0; i < 20; ++i) session_.press('-');
    EXPECT_EQ(session_.press('-'), Answer::nothing);
}

TEST_F(TopSession, WithoutDevicesItSaysWhereItLooksAndGoesOn) {
    take({});
    EXPECT_TRUE(shows("no devices in /run/kstat"));
    session_.press('j');
    session_.press('1');
    take({"nbd0"});
    EXPECT_EQ(selected(), "nbd0");
}

TEST_F(TopSession, ADeviceThatDiesIsToldAndStaysInSight) {
    take({"nbd0", "nbd1"});
    session_.press('2');
    take({"nbd0"});
    EXPECT_TRUE(shows("disk removed: nbd1"));
    EXPECT_TRUE(shows("nbd1 (gone)"));
    EXPECT_EQ(selected(), "nbd1");
    for (int i = 0; i < Model::looks_kept; ++i) take({"nbd0"});
    EXPECT_FALSE(shows("nbd1 (gone)"));
    EXPECT_EQ(selected(), "nbd0");
}

TEST_F(TopSession, CShowsTheClientsOfTheChosenDeviceAndAgainTheDevices) {
    DeviceLook client = idle_look("nbd1,client-1");
    client.device.kind = iostat::Kind::client;
    client.who = "fio (process 7 of user 0)";
    session_.take(look_at(now_ += one_second, {idle_look("nbd0"), idle_look("nbd1"), client}));
    EXPECT_FALSE(shows("client-1"));
    session_.press('2');
    EXPECT_EQ(session_.press('c'), Answer::draw);
    EXPECT_TRUE(shows("client-1 fio (process 7 of u"));
    EXPECT_EQ(selected(), "nbd1");
    session_.press('1');
    EXPECT_FALSE(shows("client-1"));
    EXPECT_EQ(selected(), "nbd0");
    session_.press('c');
    EXPECT_TRUE(shows(" nbd1"));
}

TEST_F(TopSession, WhatWentWrongIsTold) {
    take({"nbd0"});
    session_.tell("cannot update the kstats: Permission denied");
    EXPECT_TRUE(shows("cannot update the kstats: Permission denied"));
}

}  // namespace
}  // namespace blkscope::top
