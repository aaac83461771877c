#include "tools/iostat/groups.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"
#include "tools/iostat/figures.hpp"

namespace blkscope::iostat {
namespace {

using Names = std::vector<std::string>;

TEST(IostatGroups, AControllerIsACAndItsNumber) {
    EXPECT_EQ(controller_of("c1t0d0"), "c1");
    EXPECT_EQ(controller_of("c12d0"), "c12");
    for (const char* other : {"sd0", "c1", "ct0d0", "c", "", "cd0"}) {
        EXPECT_EQ(controller_of(other), "") << other;
    }
}

TEST(IostatGroups, AControllersFiguresAreTotalsAndItsPercentagesMeans) {
    Device one = idle_device("c1t0d0");
    one.snaptime = one.crtime + 10 * one_second;
    Device other = one;
    other.name = "c1t1d0";
    one.io = {.nread = 10240,
              .nwritten = 0,
              .reads = 30,
              .writes = 0,
              .wtime = 2 * one_second,
              .wlentime = 3 * one_second,
              .wlastupdate = 0,
              .rtime = 10 * one_second,
              .rlentime = 20 * one_second,
              .rlastupdate = 0,
              .wcnt = 0,
              .rcnt = 0};
    other.io.writes = 10;
    other.io.nwritten = 20480;
    other.io.rtime = 5 * one_second;
    other.io.rlentime = 10 * one_second;
    const Snapshot shown = with_controllers({one, other});
    ASSERT_EQ(names_of(shown), (Names{"c1", "c1t0d0", "c1t1d0"}));
    EXPECT_EQ(shown[0].kind, Kind::controller);
    const Figures f = figures(nullptr, shown[0], {});
    EXPECT_DOUBLE_EQ(f.reads, 3);
    EXPECT_DOUBLE_EQ(f.writes, 1);
    EXPECT_DOUBLE_EQ(f.data, 3);
    EXPECT_DOUBLE_EQ(f.wait, 0.3);
    EXPECT_DOUBLE_EQ(f.actv, 3);
    EXPECT_DOUBLE_EQ(f.asvc_t, 750);  // 30 s of stay, 40 requests
    EXPECT_DOUBLE_EQ(f.w_percent, 10);
    EXPECT_DOUBLE_EQ(f.b_percent, 75);
    EXPECT_DOUBLE_EQ(f.elapsed_s, 10);
}

TEST(IostatGroups, APartitionFollowsItsControllerAndIsNotCountedAgain) {
    Device partition = busy_device("c1t0d0,a");
    partition.kind = Kind::partition;
    const Snapshot shown = with_controllers({busy_device("c1t0d0"), partition, idle_device("sd0")});
    ASSERT_EQ(names_of(shown), (Names{"c1", "c1t0d0", "c1t0d0,a", "sd0"}));
    EXPECT_EQ(shown[0].io.reads, 1000u);
    EXPECT_EQ(shown[0].members, 1);
}

TEST(IostatGroups, PathsAndClientsFollowTheirDiskAndAreNotCountedAgain) {
    Device path = busy_device("c1t0d0.t1.fp0");
    path.kind = Kind::path;
    Device client = busy_device("c1t0d0,client-1");
    client.kind = Kind::client;
    const Snapshot shown =
        with_controllers({busy_device("c1t0d0"), client, path, busy_device("c1t1d0")});
    ASSERT_EQ(names_of(shown),
              (Names{"c1", "c1t0d0", "c1t0d0,client-1", "c1t0d0.t1.fp0", "c1t1d0"}));
    EXPECT_EQ(shown[0].io.reads, 2000u);
    EXPECT_EQ(shown[0].members, 2);
}

TEST(IostatGroups, ErrorsOfAControllersDisksAreSummedUp) {
    Device one = idle_device("c1t0d0");
    one.errors = error_records();
    Device other = one;
    other.name = "c1t1d0";
    const Snapshot shown = with_controllers({one, other, idle_device("c1t2d0")});
    const Figures f = figures(nullptr, shown[0], {});
    EXPECT_EQ(f.soft_errors, 2);
    EXPECT_EQ(f.hard_errors, 4);
    EXPECT_EQ(f.transport_errors, 6);
    EXPECT_EQ(f.errors, 12);
}

std::vector<Device> four_paths() {
    std::vector<Device> paths;
    for (const char* name : {"ssd0.t1.fp0", "ssd0.t1.fp1", "ssd0.t2.fp0", "ssd1.t1.fp0"}) {
        paths.push_back(busy_device(name));
        paths.back().kind = Kind::path;
    }
    return paths;
}

TEST(IostatGroups, PathsByInitiatorAreSumsOverTargets) {
    const auto shown = combine_paths(four_paths(), Paths::by_initiator);
    ASSERT_EQ(names_of(shown), (Names{"ssd0.fp0", "ssd0.fp1", "ssd1.fp0"}));
    EXPECT_EQ(shown[0].io.reads, 2000u);
    EXPECT_EQ(shown[0].members, 2);
    EXPECT_EQ(shown[1].io.reads, 1000u);
}

TEST(IostatGroups, PathsByTargetAreSumsOverInitiatorsAndThePathsThemselves) {
    const auto shown = combine_paths(four_paths(), Paths::by_target);
    EXPECT_EQ(names_of(shown), (Names{"ssd0.t1", "ssd0.t1.fp0", "ssd0.t1.fp1", "ssd0.t2",
                                      "ssd0.t2.fp0", "ssd1.t1", "ssd1.t1.fp0"}));
    EXPECT_EQ(shown[0].io.writes, 1000u);
}

TEST(IostatGroups, WhatIsNoPathOrIsNamedOtherwiseStaysAsItIs) {
    std::vector<Device> devices{idle_device("sd0.t1.fp0"), idle_device("odd", Kind::path),
                                idle_device("a.b", Kind::path), idle_device("a.b.c.d", Kind::path)};
    EXPECT_EQ(names_of(combine_paths(devices, Paths::by_initiator)), names_of(devices));
    EXPECT_EQ(names_of(combine_paths(four_paths(), Paths::none)), names_of(four_paths()));
}

}  // namespace
}  // namespace blkscope::iostat
