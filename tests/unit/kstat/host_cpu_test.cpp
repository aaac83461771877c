// cpu_info, cpu:N:sys, cpu:N:vm and cpu_stat of the made-up machine.
#include <unistd.h>

#include <array>

#include "host_machine.hpp"

namespace blkscope::kstat::host {

namespace {

using HostCpu = HostMachine;

TEST_F(HostCpu, OnlyOnlineProcessorsHaveKstats) {
    Host host(root);
    for (const char* name : {"cpu_info:0:cpu_info0", "cpu_info:2:cpu_info2", "cpu:0:sys",
                             "cpu:2:sys", "cpu:0:vm", "cpu:2:vm", "cpu_stat:2:cpu_stat2"}) {
        EXPECT_TRUE(find(host, name)) << name;
    }
    EXPECT_FALSE(find(host, "cpu:1:sys"));
    EXPECT_FALSE(find(host, "cpu_info:1:cpu_info1"));
}

TEST_F(HostCpu, TicksAreSumsOfLinuxs) {
    const auto sys = look("cpu:0:sys");
    ASSERT_TRUE(sys);
    EXPECT_EQ(number(*sys, "cpu_ticks_user"), 1000u + 200u);
    EXPECT_EQ(number(*sys, "cpu_ticks_kernel"), 300u + 5u + 6u + 7u);
    EXPECT_EQ(number(*sys, "cpu_ticks_idle"), 4000u + 50u);
    EXPECT_EQ(number(*sys, "cpu_ticks_wait"), 0u);
    const auto tick = 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    EXPECT_EQ(number(*sys, "cpu_nsec_user"), 1200 * tick);
    EXPECT_EQ(number(*sys, "cpu_nsec_intr"), (5 + 6) * tick);
}

TEST_F(HostCpu, EachProcessorHasItsOwnInterruptsCallsAndIdles) {
    const auto first = look("cpu:0:sys");
    const auto second = look("cpu:2:sys");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(number(*first, "intr"), 120u);
    EXPECT_EQ(number(*second, "intr"), 41u);
    EXPECT_EQ(number(*first, "xcalls"), 33u);
    EXPECT_EQ(number(*second, "xcalls"), 44u);
    EXPECT_EQ(number(*first, "idlethread"), 777u);
    EXPECT_EQ(number(*second, "idlethread"), 88u);
}

TEST_F(HostCpu, WhatTheMachineCountsAsAWholeStandsInTheFirstProcessorsKstats) {
    const auto first = look("cpu:0:sys");
    const auto second = look("cpu:2:sys");
    ASSERT_TRUE(first && second);
    for (const auto& [name, value] :
         {std::pair("pswitch", 987'654u), std::pair("sysfork", 4321u), std::pair("nthreads", 4321u),
          std::pair("iowait", 2u), std::pair("rawch", 42u), std::pair("outch", 220u)}) {
        EXPECT_EQ(number(*first, name), value) << name;
        EXPECT_EQ(number(*second, name), 0u) << name;
    }
}

TEST_F(HostCpu, PagingIsCountedInPages) {
    const auto vm = look("cpu:0:vm");
    const auto other = look("cpu:2:vm");
    ASSERT_TRUE(vm && other);
    const auto per_kib = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
    EXPECT_EQ(number(*vm, "pgpgin"), 40'000 / per_kib);
    EXPECT_EQ(number(*vm, "pgpgout"), 80'000 / per_kib);
    EXPECT_EQ(number(*vm, "anonpgin"), 30u);
    EXPECT_EQ(number(*vm, "fspgin"), 40'000 / per_kib - 30);
    EXPECT_EQ(number(*vm, "maj_fault"), 120u);
    EXPECT_EQ(number(*vm, "as_fault"), 4880u);
    EXPECT_EQ(number(*vm, "dfree"), 77u);
    EXPECT_EQ(number(*vm, "scan"), 99u);
    EXPECT_EQ(number(*vm, "pgrrun"), 13u);
    EXPECT_EQ(number(*other, "maj_fault"), 0u);
}

TEST_F(HostCpu, OldKernelsCountPagingPerZone) {
    write("/proc/vmstat",
          "pgscan_kswapd_dma 1\npgscan_kswapd_normal 2\npgscan_direct_normal 4\n"
          "pgscan_direct_throttle 8\npgsteal_kswapd_normal 16\npgsteal_direct_dma 32\n");
    const auto vm = look("cpu:0:vm");
    ASSERT_TRUE(vm);
    EXPECT_EQ(number(*vm, "scan"), 7u);
    EXPECT_EQ(number(*vm, "dfree"), 48u);
}

// The words of Solaris' cpu_stat_t: a lock of two, cpu_sysinfo of 59, cpu_syswait of 3, cpu_vminfo
// of 31.
TEST_F(HostCpu, TheRawKstatHasTheWordsOfASolarisCpuStat) {
    const auto data = look("cpu_stat:0:cpu_stat0");
    ASSERT_TRUE(data);
    const auto words = as<std::array<uint32_t, 2 + 59 + 3 + 31>>(*data);
    EXPECT_EQ(words[2], 4050u);               // cpu[CPU_IDLE]
    EXPECT_EQ(words[3], 1200u);               // cpu[CPU_USER]
    EXPECT_EQ(words[4], 318u);                // cpu[CPU_KERNEL]
    EXPECT_EQ(words[9 + 6], 987'654u);        // pswitch
    EXPECT_EQ(words[9 + 8], 120u);            // intr
    EXPECT_EQ(words[2 + 59], 2u);             // iowait
    EXPECT_EQ(words[2 + 59 + 3 + 16], 120u);  // maj_fault
}

TEST_F(HostCpu, InfoComesFromCpuinfoAndTheTopology) {
    const auto info = look("cpu_info:2:cpu_info2");
    ASSERT_TRUE(info);
    EXPECT_EQ(text(*info, "state"), "on-line");
    EXPECT_EQ(number(*info, "state_begin"), 1'700'000'000u);
    EXPECT_EQ(text(*info, "brand"), "Intel(R) Xeon(R) Processor");
    EXPECT_EQ(text(*info, "vendor_id"), "GenuineIntel");
    EXPECT_EQ(number(*info, "family"), 6u);
    EXPECT_EQ(number(*info, "model"), 167u);
    EXPECT_EQ(number(*info, "chip_id"), 1u);
    EXPECT_EQ(number(*info, "core_id"), 3u);
    EXPECT_EQ(number(*info, "clog_id"), 0u);
    EXPECT_EQ(number(*info, "ncpu_per_chip"), 4u);
    EXPECT_EQ(number(*info, "ncore_per_chip"), 2u);
    EXPECT_EQ(number(*info, "current_clock_Hz"), 1'200'000'000u);
    EXPECT_EQ(number(*info, "clock_MHz"), 3000u);
    EXPECT_EQ(text(*info, "supported_frequencies_Hz"), "800000000:1200000000:3000000000");
    EXPECT_EQ(number(*info, "supported_max_cstates"), 2u);
    EXPECT_EQ(number(*info, "cache_id"), 8u);
    EXPECT_NE(text(*info, "implementation").find("family 6 model 167 step 1 clock 3000 MHz"),
              std::string::npos);
}

TEST_F(HostCpu, AProcessorWithoutCpufreqRunsAtTheClockOfCpuinfo) {
    const auto info = look("cpu_info:0:cpu_info0");
    ASSERT_TRUE(info);
    EXPECT_EQ(number(*info, "current_clock_Hz"), 2'700'125'000u);
    EXPECT_EQ(number(*info, "clock_MHz"), 2700u);
    EXPECT_EQ(text(*info, "supported_frequencies_Hz"), "2700125000");
    EXPECT_EQ(number(*info, "cache_id"), 0u);
}

TEST_F(HostCpu, AProcessorThatComesAndOneThatGoesAreFoundAtTheNextLook) {
    Host host(root);
    const auto before = host.list();
    const auto gone = find(host, "cpu:2:sys");
    const auto stays = find(host, "cpu:0:sys");
    ASSERT_TRUE(gone && stays);
    write("/proc/stat", "cpu  1 1 1 1\ncpu0 1 1 1 1 0 0 0 0\ncpu1 1 1 1 1\nprocs_running 1\n");
    ASSERT_TRUE(eventually([&] { return find(host, "cpu:1:sys").has_value(); }));
    EXPECT_FALSE(find(host, "cpu:2:sys"));
    EXPECT_FALSE(host.read(gone->ks_kid));
    EXPECT_EQ(find(host, "cpu:0:sys")->ks_kid, stays->ks_kid);
    EXPECT_GT(find(host, "cpu:1:sys")->ks_kid, before.back().ks_kid);
}

TEST_F(HostCpu, AProcessorThatWentSinceTheLastLookCannotBeRead) {
    Host host(root);
    const auto sys = find(host, "cpu:2:sys");
    ASSERT_TRUE(sys);
    write("/proc/stat", "cpu0 1 1 1 1 0 0 0 0\nprocs_running 1\n");
    EXPECT_TRUE(eventually([&] { return !host.read(sys->ks_kid); }));
}

}  // namespace

}  // namespace blkscope::kstat::host
