// One run, told in two ways: what the kstats say of a device is what its devstat entry says.

#include <devstat.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "devstat/entries/bintime.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

using Entry = struct ::devstat;

class DevstatOfAServer : public ServedDevice {
  protected:
    DevstatOfAServer() { stats_.dinfo = &info_; }
    ~DevstatOfAServer() override { std::free(info_.mem_ptr); }

    /// The entry of nbdN; a test failure and nothing in it where there is none.
    Entry entry(int unit = 0) {
        EXPECT_GE(devstat_getdevs(nullptr, &stats_), 0) << devstat_errbuf;
        for (int i = 0; i < info_.numdevs; ++i) {
            if (info_.devices[i].unit_number == unit) return info_.devices[i];
        }
        ADD_FAILURE() << "no nbd" << unit;
        return {};
    }

    static int64_t ns(const bintime& time) { return devstat::ns_of(time); }

    statinfo stats_{};
    devinfo info_{};
};

TEST_F(DevstatOfAServer, IsADiskOfTheSameName) {
    serve("memory:1M");
    const Entry disk = entry();
    EXPECT_EQ(info_.numdevs, 1);
    EXPECT_STREQ(disk.device_name, "nbd");
    EXPECT_EQ(disk.block_size, 512u);
    EXPECT_EQ(disk.device_type, DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_OTHER);
    EXPECT_EQ(disk.priority, DEVSTAT_PRIORITY_DISK);
    EXPECT_EQ(devstat_checkversion(nullptr), 0);
}

// Once idle, both have counted the same requests with the same stamps. The stay of a read or write
// in both queues is its duration. Rounding two times to nanoseconds may make a difference.
TEST_F(DevstatOfAServer, AgreesWithTheIoKstatToTheNanosecond) {
    NEEDS("fio");
    serve("memory:16M", {"--queue-depth", "4"});
    succeed({"fio", "--name=job", "--ioengine=nbd", "--thread", "--rw=randrw", "--rwmixread=60",
             "--bsrange=512-64k", "--iodepth=16", "--size=16M", "--number_ios=5000", "--io_size=1G",
             "--norandommap", "--output=" + path("fio.txt"), "--uri=" + uri()});
    const kstat_io_t io = read_io();
    const Entry disk = entry();
    ASSERT_EQ(io.wcnt + io.rcnt, 0u);
    EXPECT_EQ(disk.operations[DEVSTAT_READ], io.reads);
    EXPECT_EQ(disk.operations[DEVSTAT_WRITE], io.writes);
    EXPECT_GE(io.reads + io.writes, 5000u);
    EXPECT_EQ(disk.bytes[DEVSTAT_READ], io.nread);
    EXPECT_EQ(disk.bytes[DEVSTAT_WRITE], io.nwritten);
    EXPECT_EQ(disk.start_count, disk.end_count);
    EXPECT_EQ(disk.sequence0, disk.start_count + disk.end_count);
    const int64_t stays = ns(disk.duration[DEVSTAT_READ]) + ns(disk.duration[DEVSTAT_WRITE]);
    EXPECT_NEAR(static_cast<double>(stays), static_cast<double>(io.wlentime + io.rlentime), 2);
    // The device is busy from the first arrival to the last answer, in either queue. The two sides
    // are equal if requests wait only while none runs. Each of the three times is rounded to
    // nanoseconds by itself.
    constexpr int64_t rounding_ns = 2;
    EXPECT_GE(ns(disk.busy_time) + rounding_ns, io.rtime);
    EXPECT_LE(ns(disk.busy_time), io.rtime + io.wtime + rounding_ns);
}

TEST_F(DevstatOfAServer, EachCommandIsOfItsKind) {
    serve("memory:16M");
    Client client(uri());
    nbd_handle* const nbd = client.get();
    ASSERT_EQ(client.try_write(0, 65536), 0);
    ASSERT_EQ(client.try_read(0, 4096), 0);
    ASSERT_EQ(nbd_trim(nbd, 8192, 0, 0), 0);
    ASSERT_EQ(nbd_zero(nbd, 4096, 16384, 0), 0);
    ASSERT_EQ(nbd_zero(nbd, 2048, 32768, LIBNBD_CMD_FLAG_NO_HOLE), 0);
    ASSERT_EQ(nbd_flush(nbd, 0), 0);
    const Entry disk = entry();
    EXPECT_EQ(disk.operations[DEVSTAT_READ], 1u);
    EXPECT_EQ(disk.bytes[DEVSTAT_READ], 4096u);
    EXPECT_EQ(disk.operations[DEVSTAT_WRITE], 2u);
    EXPECT_EQ(disk.bytes[DEVSTAT_WRITE], 65536u + 2048u);
    EXPECT_EQ(disk.operations[DEVSTAT_FREE], 2u);
    EXPECT_EQ(disk.bytes[DEVSTAT_FREE], 8192u + 4096u);
    EXPECT_EQ(disk.operations[DEVSTAT_NO_DATA], 1u);
    EXPECT_EQ(disk.bytes[DEVSTAT_NO_DATA], 0u);
    EXPECT_EQ(disk.tag_types[DEVSTAT_TAG_SIMPLE], 6u);
    for (const bintime& duration : disk.duration) EXPECT_GT(ns(duration), 0);
}

TEST_F(DevstatOfAServer, ServersThatComeAndGoAreNewGenerations) {
    serve("memory:1M");
    static_cast<void>(entry());
    const long alone = info_.generation;
    const uint32_t number = entry().device_number;
    EXPECT_EQ(info_.generation, alone);
    const auto other = serve_beside("memory:1M", "other.sock");
    EXPECT_NE(entry(1).device_number, number);
    EXPECT_EQ(info_.generation, alone + 1);
    EXPECT_EQ(info_.numdevs, 2);
    EXPECT_EQ(info_.devices[0].device_number, number);
    other->signal(SIGKILL);
    other->wait();
    EXPECT_EQ(entry().device_number, number);
    EXPECT_EQ(info_.numdevs, 1);
    EXPECT_EQ(info_.generation, alone + 2);
}

// A stopped server costs a bounded wait, and its last counters stay.
TEST_F(DevstatOfAServer, AServerThatIsStoppedKeepsItsEntry) {
    serve("memory:1M");
    Client client(uri());
    ASSERT_EQ(client.try_write(0, 4096), 0);
    ASSERT_EQ(entry().operations[DEVSTAT_WRITE], 1u);
    server_->signal(SIGSTOP);
    EXPECT_EQ(entry().operations[DEVSTAT_WRITE], 1u);
    server_->signal(SIGCONT);
    ASSERT_EQ(client.try_write(0, 4096), 0);
    EXPECT_TRUE(eventually([&] { return entry().operations[DEVSTAT_WRITE] == 2; }));
}

}  // namespace
}  // namespace blkscope::test
