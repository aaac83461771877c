#include "tools/iostat/figures.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

TEST(IostatFigures, EachComesFromItsOwnCounter) {
    Device before = idle_device("sd0");
    Device now = before;
    now.snaptime += 2 * one_second;
    now.io.reads = 10;
    now.io.writes = 6;
    now.io.nread = 40 * 1024;
    now.io.nwritten = 20 * 1024;
    now.io.wtime = one_second / 4;
    now.io.wlentime = one_second;
    now.io.rtime = one_second;
    now.io.rlentime = 3 * one_second;
    const Figures f = figures(&before, now, {});
    EXPECT_DOUBLE_EQ(f.reads, 5);
    EXPECT_DOUBLE_EQ(f.writes, 3);
    EXPECT_DOUBLE_EQ(f.transfers, 8);
    EXPECT_DOUBLE_EQ(f.data_read, 20);
    EXPECT_DOUBLE_EQ(f.data_written, 10);
    EXPECT_DOUBLE_EQ(f.data, 30);
    EXPECT_DOUBLE_EQ(f.wait, 0.5);
    EXPECT_DOUBLE_EQ(f.actv, 1.5);
    EXPECT_DOUBLE_EQ(f.wsvc_t, 62.5);
    EXPECT_DOUBLE_EQ(f.asvc_t, 187.5);
    EXPECT_DOUBLE_EQ(f.svc_t, 250);
    EXPECT_DOUBLE_EQ(f.w_percent, 12.5);
    EXPECT_DOUBLE_EQ(f.b_percent, 50);
}

TEST(IostatFigures, TheFirstIntervalBeginsWithTheDevice) {
    Device device = busy_device();
    device.snaptime = device.crtime + 100 * one_second;
    const Figures f = figures(nullptr, device, {});
    EXPECT_DOUBLE_EQ(f.reads, 10);
    EXPECT_DOUBLE_EQ(f.b_percent, 50);
}

TEST(IostatFigures, ADeviceCreatedAnewHasNoPast) {
    const Device before = busy_device();
    Device now = idle_device("sd0");
    now.crtime = before.snaptime + one_second;
    now.snaptime = now.crtime + one_second;
    now.io.reads = 7;
    const Figures f = figures(&before, now, {});
    EXPECT_DOUBLE_EQ(f.reads, 7);
    EXPECT_DOUBLE_EQ(f.writes, 0);
    EXPECT_DOUBLE_EQ(f.data, 0);
    EXPECT_DOUBLE_EQ(f.b_percent, 0);
}

TEST(IostatFigures, OperationCountsWrapAt32Bits) {
    Device before = idle_device("sd0");
    before.io.reads = 0xffff'fffeU;
    before.io.writes = 0xffff'ff00U;
    Device now = before;
    now.snaptime += one_second;
    now.io.reads = 3;
    now.io.writes = 1;
    EXPECT_DOUBLE_EQ(figures(&before, now, {}).reads, 5);
    EXPECT_DOUBLE_EQ(figures(&before, now, {}).writes, 257);
}

TEST(IostatFigures, WithoutCompletionsThereIsNoServiceTimeThoughTheQueuesAreFull) {
    const Device before = idle_device("sd0");
    Device now = before;
    now.snaptime += one_second;
    now.io.wtime = one_second;
    now.io.wlentime = 4 * one_second;
    now.io.rtime = one_second;
    now.io.rlentime = 32 * one_second;
    const Figures f = figures(&before, now, {});
    EXPECT_EQ(f.wsvc_t, 0);
    EXPECT_EQ(f.asvc_t, 0);
    EXPECT_EQ(f.svc_t, 0);
    EXPECT_DOUBLE_EQ(f.wait, 4);
    EXPECT_DOUBLE_EQ(f.actv, 32);
    EXPECT_DOUBLE_EQ(f.w_percent, 100);
    EXPECT_DOUBLE_EQ(f.b_percent, 100);
}

TEST(IostatFigures, AnEmptyIntervalCountsAsASecond) {
    const Device before = busy_device();
    Device now = one_second_later(before);
    now.snaptime = before.snaptime;
    EXPECT_DOUBLE_EQ(figures(&before, now, {}).reads, 100);
    EXPECT_DOUBLE_EQ(figures(&before, now, {}).b_percent, 50);
}

TEST(IostatFigures, CountsAreNotDividedByTheInterval) {
    const Device before = busy_device();
    Device now = one_second_later(before);
    now.snaptime += 3 * one_second;
    Options options;
    options.counts = true;
    const Figures f = figures(&before, now, options);
    EXPECT_DOUBLE_EQ(f.reads, 100);
    EXPECT_DOUBLE_EQ(f.transfers, 150);
    EXPECT_DOUBLE_EQ(f.data, 1000);
    EXPECT_DOUBLE_EQ(f.actv, 1.5 / 4);
    EXPECT_DOUBLE_EQ(f.b_percent, 12.5);
    EXPECT_DOUBLE_EQ(f.asvc_t, 10);
}

TEST(IostatFigures, AMegabyteIs1048576Bytes) {
    const Device before = idle_device("sd0");
    Device now = before;
    now.snaptime += one_second;
    now.io.nread = 3 * 1048576;
    now.io.nwritten = 1048576;
    Options options;
    options.megabytes = true;
    EXPECT_DOUBLE_EQ(figures(&before, now, options).data_read, 3);
    EXPECT_DOUBLE_EQ(figures(&before, now, options).data, 4);
}

TEST(IostatFigures, NothingIsClamped) {
    const Device before = idle_device("sd0");
    Device now = before;
    now.snaptime += one_second;
    now.io.rtime = 2 * one_second;
    EXPECT_DOUBLE_EQ(figures(&before, now, {}).b_percent, 200);
}

}  // namespace
}  // namespace blkscope::iostat
