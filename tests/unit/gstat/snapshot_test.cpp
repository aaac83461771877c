#include "gstat/snapshot.hpp"

#include <gtest/gtest.h>

#include <kstat/devstat/bintime.hpp>

namespace blkscope::gstat {
namespace {

constexpr hrtime_t ms = 1'000'000;

Devstat entry(hrtime_t busy, hrtime_t from, unsigned in_flight) {
    Devstat d{};
    d.start_count = in_flight;
    d.busy_time = devstat::bintime_of(busy);
    d.busy_from = devstat::bintime_of(from);
    return d;
}

TEST(GstatSnapshot, ARequestInFlightIsBusyTimeUpToNow) {
    Devstat d = entry(10 * ms, 100 * ms, 1);
    charge_busy_time(d, 130 * ms);
    EXPECT_EQ(devstat::ns_of(d.busy_time), 40 * ms);
    charge_busy_time(d, 150 * ms);  // not twice
    EXPECT_EQ(devstat::ns_of(d.busy_time), 60 * ms);
}

TEST(GstatSnapshot, AnIdleDeviceIsNotCharged) {
    Devstat d = entry(10 * ms, 100 * ms, 0);
    charge_busy_time(d, 130 * ms);
    EXPECT_EQ(devstat::ns_of(d.busy_time), 10 * ms);
}

TEST(GstatSnapshot, AClockThatIsBehindChargesNothing) {
    Devstat d = entry(10 * ms, 100 * ms, 1);
    charge_busy_time(d, 99 * ms);
    EXPECT_EQ(devstat::ns_of(d.busy_time), 10 * ms);
}

TEST(GstatSnapshot, PartitionsStandBehindTheirDevice) {
    std::vector<Device> devices{{0, "nbd0", false, {}},  {1, "nbd1", false, {}},
                                {2, "nbd10", false, {}}, {3, "nbd1,1", true, {}},
                                {4, "nbd0,2", true, {}}, {5, "0xabc", true, {}},
                                {6, "nbd1,2", true, {}}};
    put_partitions_in_place(devices);
    std::vector<std::string> names;
    for (const Device& device : devices) names.push_back(device.name);
    EXPECT_EQ(names, (std::vector<std::string>{"nbd0", "nbd0,2", "nbd1", "nbd1,1", "nbd1,2",
                                               "nbd10", "0xabc"}));
}

}  // namespace
}  // namespace blkscope::gstat
