// The IO kstats of the made-up machine's disks.
#include <algorithm>

#include "host_machine.hpp"
#include "kstat/host/disk_counters.hpp"

namespace blkscope::kstat::host {

namespace {

using HostDisks = HostMachine;

TEST_F(HostDisks, DisksAndPartitionsAreNamedForIostat) {
    Host host(root);
    std::vector<std::string> disks;
    for (const kstat_t& ks : host.list()) {
        if (ks.ks_type == KSTAT_TYPE_IO) disks.push_back(full_name(ks) + " " + ks.ks_class);
    }
    EXPECT_EQ(disks,
              (std::vector<std::string>{"linux:0:vda disk", "linux:0:vda,1 partition",
                                        "linux:0:knbd0 disk", "linux:0:nvme0n1 disk",
                                        "linux:0:nvme0n1,2 partition", "linux:27:sdab disk"}));
}

TEST_F(HostDisks, OperationsAndBytesAreLinuxsOwn) {
    const auto data = look("linux:0:vda");
    ASSERT_TRUE(data);
    const auto io = as<kstat_io_t>(*data);
    EXPECT_EQ(io.reads, 1000u);
    EXPECT_EQ(io.writes, 500u);
    EXPECT_EQ(io.nread, 8000u * 512);
    EXPECT_EQ(io.nwritten, 4000u * 512);
    EXPECT_EQ(io.rcnt, 3u);
    EXPECT_EQ(io.rtime, 946'000'000);
    EXPECT_EQ(io.rlentime, 7'300'000'000);
    EXPECT_EQ(io.rlastupdate, data->snaptime);
}

TEST_F(HostDisks, TheWaitQueueIsUnknownAndEmpty) {
    const auto data = look("linux:0:vda");
    ASSERT_TRUE(data);
    const auto io = as<kstat_io_t>(*data);
    EXPECT_EQ(io.wtime, 0);
    EXPECT_EQ(io.wlentime, 0);
    EXPECT_EQ(io.wcnt, 0u);
    const auto details = look("linux:0:vda,linux");
    ASSERT_TRUE(details);
    EXPECT_EQ(text(*details, "not_counted"), "wtime wlentime wcnt");
}

// Solaris' vmstat divides by the difference of two such moments.
TEST_F(HostDisks, BothQueuesWereUpdatedAtTheMomentOfTheLook) {
    const auto data = look("linux:0:vda");
    ASSERT_TRUE(data);
    const auto io = as<kstat_io_t>(*data);
    EXPECT_GT(io.wlastupdate, 0);
    EXPECT_EQ(io.wlastupdate, data->snaptime);
    EXPECT_EQ(io.wlastupdate, io.rlastupdate);
}

TEST_F(HostDisks, WhatAnIoKstatHasNoRoomForStandsBesideIt) {
    const auto details = look("linux:0:vda,linux");
    ASSERT_TRUE(details);
    EXPECT_EQ(text(*details, "device"), "vda");
    EXPECT_EQ(number(*details, "major"), 254u);
    EXPECT_EQ(number(*details, "counters"), 17u);
    EXPECT_EQ(number(*details, "reads_merged"), 24u);
    EXPECT_EQ(number(*details, "read_ns"), 3'100'000'000u);
    EXPECT_EQ(number(*details, "discards"), 64u);
    EXPECT_EQ(number(*details, "discarded_bytes"), 4825u * 512);
    EXPECT_EQ(number(*details, "flushes"), 50u);
    EXPECT_EQ(number(*details, "flush_ns"), 64'000'000u);
    const auto nbd = look("linux:0:knbd0,linux");
    ASSERT_TRUE(nbd);
    EXPECT_EQ(text(*nbd, "device"), "nbd0");
}

TEST_F(HostDisks, OlderKernelsHaveFewerCounters) {
    EXPECT_EQ(parse_disk_line(" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11")->count, 11u);
    EXPECT_EQ(parse_disk_line(" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15")->count, 15u);
    const auto oldest = parse_disk_line(" 8 1 sda1 10 20 30 40");
    ASSERT_TRUE(oldest);
    EXPECT_EQ(oldest->counters[reads], 10u);
    EXPECT_EQ(oldest->counters[sectors_read], 20u);
    EXPECT_EQ(oldest->counters[writes], 30u);
    EXPECT_EQ(oldest->counters[sectors_written], 40u);
    EXPECT_EQ(oldest->counters[read_ms], 0u);
}

TEST_F(HostDisks, LinesThatAreNoneAreSkipped) {
    for (const char* line : {"", "8", "8 0", "8 0 sda", "8 0 sda 1 2 3", "x 0 sda 1 2 3 4",
                             "8 0 sda 1 2 3 4 5", "8 0 sda 1 2 3 -4 5 6 7 8 9 10 11"}) {
        EXPECT_FALSE(parse_disk_line(line)) << line;
    }
}

// 49 days of milliseconds; the line of a kernel of 64 bits.
std::string line_with(uint64_t ms) {
    const std::string time = " " + std::to_string(ms);
    return "254 0 vda 1000 0 8000" + time + " 1000 0 8000" + time + " 0" + time + time +
           " 10 0 80" + time + " 10" + time + "\n";
}

TEST_F(HostDisks, NoTimeGoesBackWhenTheKernelsWraps) {
    write("/proc/diskstats", line_with(4'294'967'000));
    Host host(root);
    const auto details = find(host, "linux:0:vda,linux");
    const auto io = find(host, "linux:0:vda");
    ASSERT_TRUE(details && io);
    ASSERT_TRUE(host.read(details->ks_kid) && host.read(io->ks_kid));
    write("/proc/diskstats", line_with(100));
    const auto more = host.read(details->ks_kid);
    const auto data = host.read(io->ks_kid);
    ASSERT_TRUE(more && data);
    constexpr uint64_t ns = (4'294'967'296 + 100) * 1'000'000;
    for (const char* name : {"read_ns", "write_ns", "discard_ns", "flush_ns", "queue_ns"}) {
        EXPECT_EQ(number(*more, name), ns) << name;
    }
    EXPECT_EQ(as<kstat_io_t>(*data).rtime, static_cast<hrtime_t>(ns));
    EXPECT_EQ(as<kstat_io_t>(*data).rlentime, static_cast<hrtime_t>(2 * ns));
}

DiskLine widened(DiskHistory& history, const std::string& counters) {
    auto line = parse_disk_line("8 0 sda " + counters);
    EXPECT_TRUE(line && history.widen(*line)) << counters;
    return line.value_or(DiskLine{});
}

TEST_F(HostDisks, SectorsOfA32BitKernelAreWidened) {
    DiskHistory history;
    widened(history, "5 0 4294967290 1 0 0 0 0 0 1 1");
    const DiskLine line = widened(history, "6 0 10 2 0 0 0 0 0 2 2");
    EXPECT_EQ(line.counters[sectors_read], 4'294'967'296u + 10);
    EXPECT_EQ(line.counters[reads], 6u);
}

TEST_F(HostDisks, ATimeThatFallsByARaceStaysAsItWas) {
    DiskHistory history;
    widened(history, "5 0 40 100 0 0 0 0 0 100 100");
    EXPECT_EQ(widened(history, "5 0 40 90 0 0 0 0 0 100 90").counters[read_ms], 100u);
    EXPECT_EQ(widened(history, "5 0 40 101 0 0 0 0 0 101 101").counters[read_ms], 101u);
}

// A kernel before 5.15 has no /sys/block/DISK/diskseq.
TEST_F(HostDisks, ADiskWhoseCountersBeginAnewIsAnotherKstat) {
    remove("/sys/block/vda/diskseq");
    write("/proc/diskstats", line_with(4'000'000'000));
    Host host(root);
    const auto first = find(host, "linux:0:vda");
    ASSERT_TRUE(first && host.read(first->ks_kid));
    write("/proc/diskstats", "254 0 vda 2 0 16 0 0 0 0 0 0 0 0\n");
    EXPECT_FALSE(host.read(first->ks_kid));
    const auto second = find(host, "linux:0:vda");
    ASSERT_TRUE(second);
    EXPECT_GT(second->ks_kid, first->ks_kid);
    EXPECT_GT(second->ks_crtime, 0);
    const auto data = host.read(second->ks_kid);
    ASSERT_TRUE(data);
    EXPECT_EQ(as<kstat_io_t>(*data).reads, 2u);
    EXPECT_EQ(as<kstat_io_t>(*data).rlentime, 0);
}

// sysstat 12.6, rd_stats.c: the times of reads and writes by their number.
TEST_F(HostDisks, DiscardsAndFlushesAreInNoReadsTime) {
    write("/proc/diskstats", "254 0 vda 0 0 0 0 100 0 800 100 0 900 1600 7 0 56 500 100 1000\n");
    Host host(root);
    const auto data = look("linux:0:vda");
    const auto details = look("linux:0:vda,linux");
    ASSERT_TRUE(data && details);
    EXPECT_EQ(as<kstat_io_t>(*data).rlentime, 100'000'000);
    EXPECT_EQ(number(*details, "queue_ns"), 1'600'000'000u);
}

TEST_F(HostDisks, ANegativeNumberInFlightIsNone) {
    write("/proc/diskstats", "254 0 vda 1 0 8 1 0 0 0 0 4294967295 1 1\n");
    const auto data = look("linux:0:vda");
    ASSERT_TRUE(data);
    EXPECT_EQ(as<kstat_io_t>(*data).rcnt, 0u);
}

TEST_F(HostDisks, AUnitIsTheDisksNumberInItsName) {
    for (const auto& [name, unit] :
         {std::pair("sda", 0), std::pair("sdz", 25), std::pair("sdaa", 26), std::pair("vdb", 1),
          std::pair("xvdc", 2), std::pair("nvme3n1", 3), std::pair("dm-12", 12), std::pair("x", 0),
          std::pair("md99999999999999999999", 0), std::pair("sdzzzzzzzzzzzzzzzz", 0)}) {
        EXPECT_EQ(unit_of(name), unit) << name;
    }
}

TEST_F(HostDisks, APartitionIsItsDisksNameAndANumber) {
    EXPECT_EQ(partition_name("vda", "vda1"), "vda,1");
    EXPECT_EQ(partition_name("mmcblk0", "mmcblk0p12"), "mmcblk0,12");
    EXPECT_EQ(partition_name("sda", "sdaa"), "");
    EXPECT_EQ(partition_name("nbd1", "nbd10"), "");
    EXPECT_EQ(partition_name("mmcblk0", "mmcblk0boot0"), "");
    EXPECT_EQ(partition_name("vda", "vda"), "");
    EXPECT_EQ(partition_name("", "vda1"), "");
}

TEST_F(HostDisks, ADiskThatAppearsIsYoungerThanTheLastLook) {
    Host host(root);
    const hrtime_t before = gethrtime();
    const auto old = find(host, "linux:0:vda");
    ASSERT_TRUE(old);
    EXPECT_EQ(old->ks_crtime, 0);
    write("/sys/block/sdc/size", "8");
    write("/proc/diskstats",
          "8 32 sdc 1 0 8 0 0 0 0 0 0 0 0\n"
          "254 0 vda 1001 24 8008 3101 500 41 4000 4200 3 947 7704 64 3 4825 258 50 64\n");
    ASSERT_TRUE(eventually([&] { return find(host, "linux:2:sdc").has_value(); }));
    const auto fresh = find(host, "linux:2:sdc");
    EXPECT_GE(fresh->ks_crtime, before);
    EXPECT_LE(fresh->ks_crtime, gethrtime());
    EXPECT_EQ(find(host, "linux:0:vda")->ks_kid, old->ks_kid);
    EXPECT_FALSE(find(host, "linux:0:knbd0"));
}

TEST_F(HostDisks, ADeviceThatGetsItsSizeLaterMayBeOld) {
    Host host(root);
    EXPECT_FALSE(find(host, "linux:0:sr0"));
    write("/sys/block/sr0/size", "100");
    ASSERT_TRUE(eventually([&] { return find(host, "linux:0:sr0").has_value(); }));
    EXPECT_EQ(find(host, "linux:0:sr0")->ks_crtime, 0);
}

TEST_F(HostDisks, AnotherDiskUnderTheSameNameIsAnotherKstat) {
    Host host(root);
    const auto first = find(host, "linux:0:vda");
    ASSERT_TRUE(first);
    write("/sys/block/vda/diskseq", "10\n");
    const auto second = find(host, "linux:0:vda");
    ASSERT_TRUE(second);
    EXPECT_GT(second->ks_kid, first->ks_kid);
    EXPECT_FALSE(host.read(first->ks_kid));
    EXPECT_TRUE(host.read(second->ks_kid));
}

TEST_F(HostDisks, WithoutSysEveryDiskIsShown) {
    remove("/sys/block");
    Host host(root);
    EXPECT_TRUE(find(host, "linux:0:sr0"));
    EXPECT_TRUE(find(host, "linux:0:vda,1"));
    EXPECT_FALSE(find(host, "linux:0:loop0"));
}

}  // namespace

}  // namespace blkscope::kstat::host
