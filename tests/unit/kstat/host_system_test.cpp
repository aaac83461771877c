// unix:0:* of the made-up machine.
#include <unistd.h>

#include <array>

#include "host_machine.hpp"
#include "kstat/host/system.hpp"

namespace blkscope::kstat::host {

namespace {

using HostSystem = HostMachine;

uint64_t pages(uint64_t kib) {
    return kib * 1024 / static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(HostSystem, PagesAreCountedInSolarisOrder) {
    const auto data = look("unix:0:system_pages");
    ASSERT_TRUE(data);
    ASSERT_EQ(data->ndata, 22u);
    EXPECT_STREQ(reinterpret_cast<const char*>(data->bytes.data()), "physmem");
    EXPECT_EQ(number(*data, "physmem"), pages(4'096'000));
    EXPECT_EQ(number(*data, "freemem"), pages(1'024'000));
    EXPECT_EQ(number(*data, "pagesfree"), pages(1'024'000));
    EXPECT_EQ(number(*data, "lotsfree"), 165u);
    EXPECT_EQ(number(*data, "desfree"), 137u);
    EXPECT_EQ(number(*data, "minfree"), 110u);
    EXPECT_EQ(number(*data, "pp_kernel"), pages(48'400));
    EXPECT_EQ(number(*data, "pageslocked"), pages(52'400));
    EXPECT_EQ(number(*data, "n_throttle"), 3u);
    EXPECT_EQ(number(*data, "availrmem") + number(*data, "pageslocked"),
              number(*data, "pagestotal"));
}

TEST_F(HostSystem, MiscHasTheLoadInTwoHundredFiftySixths) {
    const auto data = look("unix:0:system_misc");
    ASSERT_TRUE(data);
    EXPECT_EQ(number(*data, "ncpus"), 2u);
    EXPECT_EQ(number(*data, "avenrun_1min"), 133u);
    EXPECT_EQ(number(*data, "avenrun_5min"), 256u);
    EXPECT_EQ(number(*data, "avenrun_15min"), 15u * 256 + 253);
    EXPECT_EQ(number(*data, "nproc"), 123u);
    EXPECT_EQ(number(*data, "boot_time"), 1'700'000'000u);
    EXPECT_EQ(number(*data, "nsec_per_tick") * static_cast<uint64_t>(sysconf(_SC_CLK_TCK)),
              1'000'000'000u);
    EXPECT_EQ(number(*data, "lbolt"),
              static_cast<uint64_t>(data->snaptime) / number(*data, "nsec_per_tick"));
}

// updates runque runocc swpque swpocc waiting
TEST_F(HostSystem, SysinfoHasTheQueueOfThoseWithoutAProcessor) {
    const auto data = look("unix:0:sysinfo");
    ASSERT_TRUE(data);
    const auto words = as<std::array<uint32_t, 6>>(*data);
    EXPECT_EQ(words[0], static_cast<uint32_t>(data->snaptime / 1'000'000'000));
    EXPECT_EQ(words[1], words[0] * 3);  // 5 are ready, 2 have a processor
    EXPECT_EQ(words[2], words[0]);
    EXPECT_EQ(words[3], 0u);
    EXPECT_EQ(words[5], words[0] * 2);
}

// freemem swap_resv swap_alloc swap_avail swap_free updates
TEST_F(HostSystem, VminfoSumsPagesBySeconds) {
    const auto data = look("unix:0:vminfo");
    ASSERT_TRUE(data);
    const auto words = as<std::array<uint64_t, 6>>(*data);
    const uint64_t seconds = words[5];
    EXPECT_EQ(words[0], seconds * pages(1'024'000));
    EXPECT_EQ(words[1], seconds * pages(800'000));
    EXPECT_EQ(words[2], seconds * pages(300'000));
    EXPECT_EQ(words[3], seconds * (pages(100'000) + pages(2'048'000)));
    EXPECT_EQ(words[4], seconds * (pages(100'000) + pages(1'024'000)));
}

TEST_F(HostSystem, ASumGrowsByWhatIsThereAtTheEndOfEachSecond) {
    SecondsSum sum;
    EXPECT_EQ(sum.add(100, 7), 700u);
    EXPECT_EQ(sum.add(100, 9), 700u);
    EXPECT_EQ(sum.add(102, 3), 706u);
    EXPECT_EQ(sum.add(101, 3), 706u);
}

TEST_F(HostSystem, VarHasTheLimitsOfProcesses) {
    const auto data = look("unix:0:var");
    ASSERT_TRUE(data);
    const auto words = as<std::array<int32_t, 15>>(*data);
    EXPECT_EQ(words[2], 32'768);  // v_proc
    EXPECT_EQ(words[3], 32'768);  // v_maxupttl
    EXPECT_EQ(words[7], 30'000);  // v_maxup
    EXPECT_EQ(words[13], 30);     // v_autoup
}

TEST_F(HostSystem, TheNameCacheHasItsSizeOnly) {
    const auto data = look("unix:0:dnlcstats");
    ASSERT_TRUE(data);
    EXPECT_EQ(data->ndata, 28u);
    EXPECT_EQ(number(*data, "dir_entries_cached_current"), 100'803u);
    EXPECT_EQ(number(*data, "hits"), 0u);
    const auto old = look("unix:0:ncstats");
    ASSERT_TRUE(old);
    EXPECT_EQ(old->bytes.size(), 32u);
}

}  // namespace

}  // namespace blkscope::kstat::host
