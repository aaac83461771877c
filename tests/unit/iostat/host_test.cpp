#include "tools/iostat/host.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

TEST(IostatHost, MountsAreThoseOfDevicesAndTheFirstPlaceCounts) {
    std::istringstream mounts(
        "proc /proc proc rw 0 0\n"
        "/dev/nosuch1 / ext4 rw 0 0\n"
        "/dev/nosuch1 /again ext4 rw 0 0\n"
        "/dev/nosuch2 /with\\040a\\134blank ext4 rw 0 0\n"
        "/dev/nosuch3\n");
    const auto places = read_mounts(mounts);
    EXPECT_EQ(places.size(), 2u);
    EXPECT_EQ(places.at("nosuch1"), "/");
    EXPECT_EQ(places.at("nosuch2"), "/with a\\blank");
}

TEST(IostatHost, WhatWeServeIsNoDeviceOfThisMachine) {
    Device device = idle_device("nbd0");
    device.module = "nbd";
    EXPECT_FALSE(is_host_device(device));
    EXPECT_FALSE(is_host_device(idle_device("nosuchdisk")));
    EXPECT_FALSE(is_host_device(idle_device("")));
    EXPECT_FALSE(is_host_device(idle_device("..")));
    EXPECT_EQ(host_device_id("nosuchdisk"), "");
}

}  // namespace
}  // namespace blkscope::iostat
