// The cost of reading. The limits are ten times the times that were measured on two shared cores.
// So the limits catch a round trip too many, and not a busy machine.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "child_process.hpp"

namespace blkscope {

namespace {

using KstatSpeed = KstatProcesses;

void provide_ten_thousand(const Line& line) {
    for (int i = 0; i < 10'000; ++i) {
        kstat_install(kstat_create("many", i, nullptr, "misc", KSTAT_TYPE_RAW, 4, 0));
    }
    take_turns(line);
}

// The processor time that this process and the provider have used.
double processor_milliseconds(pid_t provider) {
    clockid_t clock{};
    EXPECT_EQ(clock_getcpuclockid(provider, &clock), 0);
    double sum = 0;
    for (const clockid_t each : {clockid_t{CLOCK_PROCESS_CPUTIME_ID}, clock}) {
        timespec time{};
        EXPECT_EQ(clock_gettime(each, &time), 0);
        sum += static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
    }
    return sum;
}

TEST_F(KstatSpeed, TenThousandKstatsAreListedWithinASecond) {
    const ReadyChild child(provide_ten_thousand);
    const double before = processor_milliseconds(child.pid());
    open();
    const double spent = processor_milliseconds(child.pid()) - before;
    std::printf("listing 10000 kstats: %.1f ms\n", spent);
    EXPECT_LT(spent, 1'000);
    int count = 0;
    for (const kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (std::strcmp(ksp->ks_module, "many") == 0) ++count;
    }
    EXPECT_EQ(count, 10'000);
}

TEST_F(KstatSpeed, AReadIsOneRoundTrip) {
    const ReadyChild child(provide_counter("one"));
    open();
    kstat_t* const ksp = lookup("one");
    std::vector<double> spent;
    for (int i = 0; i < 2'000; ++i) {
        spent.push_back(milliseconds([&] { kstat_read(kc, ksp, nullptr); }));
    }
    std::nth_element(spent.begin(), spent.begin() + 1'000, spent.end());
    std::printf("kstat_read: median %.1f us\n", spent[1'000] * 1e3);
    EXPECT_LT(spent[1'000], 2);
}

}  // namespace

}  // namespace blkscope
