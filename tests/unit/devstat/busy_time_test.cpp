#include "devstat/entries/busy_time.hpp"

#include <gtest/gtest.h>

namespace blkscope {
namespace {

using Entry = struct ::devstat;

constexpr hrtime_t ms = 1'000'000;

Entry entry(hrtime_t busy, hrtime_t from, unsigned in_flight) {
    Entry d{};
    d.start_count = in_flight;
    d.busy_time = devstat::bintime_of(busy);
    d.busy_from = devstat::bintime_of(from);
    return d;
}

TEST(BusyTime, ARequestInFlightIsBusyTimeUpToNow) {
    Entry d = entry(10 * ms, 100 * ms, 1);
    devstat::charge_busy_time(d, 130 * ms);
    EXPECT_EQ(devstat::ns_of(d.busy_time), 40 * ms);
    devstat::charge_busy_time(d, 150 * ms);  // not twice
    EXPECT_EQ(devstat::ns_of(d.busy_time), 60 * ms);
}

TEST(BusyTime, AnIdleDeviceIsNotCharged) {
    Entry d = entry(10 * ms, 100 * ms, 0);
    devstat::charge_busy_time(d, 130 * ms);
    EXPECT_EQ(devstat::ns_of(d.busy_time), 10 * ms);
}

TEST(BusyTime, AClockThatIsBehindChargesNothing) {
    Entry d = entry(10 * ms, 100 * ms, 1);
    devstat::charge_busy_time(d, 99 * ms);
    EXPECT_EQ(devstat::ns_of(d.busy_time), 10 * ms);
}

}  // namespace
}  // namespace blkscope
