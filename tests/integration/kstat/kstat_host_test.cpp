// The machine's own kstats, as this machine has them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "child_process.hpp"

namespace blkscope {

namespace {

class KstatHost : public KstatProcesses {
  protected:
    KstatHost() { open(); }

    kstat_t* read(const char* module, int instance, const char* name) const {
        kstat_t* const ksp = kstat_lookup(kc, module, instance, name);
        if (ksp == nullptr || kstat_read(kc, ksp, nullptr) == -1) return nullptr;
        return ksp;
    }
    static uint64_t value(kstat_t* ksp, const char* record) {
        const auto* const named = static_cast<kstat_named_t*>(kstat_data_lookup(ksp, record));
        EXPECT_NE(named, nullptr) << record;
        if (named == nullptr) return 0;
        return named->data_type == KSTAT_DATA_UINT32 ? named->value.ui32 : named->value.ui64;
    }
};

TEST_F(KstatHost, WhatSolarisToolsInsistOnIsThere) {
    const int cpu = kstat_lookup(kc, "cpu", -1, "sys")->ks_instance;
    for (const char* record : {"cpu_ticks_idle", "cpu_ticks_user", "cpu_ticks_kernel",
                               "cpu_ticks_wait", "cpu_nsec_dtrace", "rawch", "outch"}) {
        kstat_t* const sys = read("cpu", cpu, "sys");
        ASSERT_NE(sys, nullptr);
        value(sys, record);
    }
    EXPECT_NE(read("cpu", cpu, "vm"), nullptr);
    EXPECT_NE(read("cpu", cpu, "intrstat"), nullptr);
    EXPECT_NE(read("poll", 0, "pollstats"), nullptr);
    EXPECT_NE(read("cpu_info", cpu, nullptr), nullptr);
    EXPECT_NE(read("unix", 0, "sysinfo"), nullptr);
    EXPECT_NE(read("unix", 0, "vminfo"), nullptr);
    EXPECT_NE(read("unix", 0, "dnlcstats"), nullptr);
    kstat_t* const misc = read("unix", 0, "system_misc");
    ASSERT_NE(misc, nullptr);
    value(misc, "clk_intr");
    value(misc, "deficit");
}

TEST_F(KstatHost, ItsNumbersAreTheMachines) {
    EXPECT_EQ(value(read("unix", 0, "system_misc"), "ncpus"),
              static_cast<uint64_t>(sysconf(_SC_NPROCESSORS_ONLN)));
    EXPECT_EQ(value(read("unix", 0, "system_pages"), "physmem"),
              static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)));
}

TEST_F(KstatHost, AProcessorsTicksGoOn) {
    const int cpu = kstat_lookup(kc, "cpu", -1, "sys")->ks_instance;
    const auto ticks = [&] {
        kstat_t* const sys = read("cpu", cpu, "sys");
        return value(sys, "cpu_ticks_idle") + value(sys, "cpu_ticks_user") +
               value(sys, "cpu_ticks_kernel");
    };
    const uint64_t before = ticks();
    EXPECT_GT(before, 0u);
    EXPECT_TRUE(eventually([&] { return ticks() > before; }));
}

TEST_F(KstatHost, MayNotBeWritten) {
    kstat_t* const misc = read("unix", 0, "system_misc");
    EXPECT_EQ(kstat_write(kc, misc, nullptr), -1);
    EXPECT_EQ(errno, geteuid() == 0 ? EACCES : EPERM);
}

TEST_F(KstatHost, MayNotBeWrittenByAUserForWantOfPrivilege) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can become somebody else";
    kstat_t* const misc = read("unix", 0, "system_misc");
    kstat_t* const types = read("unix", 0, "kstat_types");
    const ChildProcess user([&](const Line& line) {
        if (setuid(65534) != 0) return;
        line.say(kstat_write(kc, misc, nullptr) == -1 && errno == EPERM ? 'p' : '-');
        line.say(kstat_write(kc, types, nullptr) == -1 && errno == EPERM ? 'p' : '-');
        line.hear();
    });
    EXPECT_EQ(user.line().hear(), 'p');
    EXPECT_EQ(user.line().hear(), 'p');
}

// The bytes that a disk of the machine has read, of the disk or partition `device`; -1: no kstat.
int64_t bytes_read(kstat_ctl_t* kc, dev_t device) {
    for (kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        const std::string name = ksp->ks_name;
        if (std::strcmp(ksp->ks_module, "linux") != 0 || !name.ends_with(",linux")) continue;
        if (kstat_read(kc, ksp, nullptr) == -1) continue;
        const auto number = [&](const char* record) {
            return static_cast<kstat_named_t*>(kstat_data_lookup(ksp, record))->value.ui32;
        };
        if (number("major") != major(device) || number("minor") != minor(device)) continue;
        const std::string disk = name.substr(0, name.rfind(','));
        kstat_t* const io = kstat_lookup(kc, "linux", ksp->ks_instance, disk.c_str());
        if (io == nullptr || kstat_read(kc, io, nullptr) == -1) return -1;
        return static_cast<int64_t>(KSTAT_IO_PTR(io)->nread);
    }
    return -1;
}

TEST_F(KstatHost, ADiskCountsWhatWasReadPastTheCache) {
    constexpr size_t size = 1 << 20;
    std::string path = std::filesystem::current_path() / "kstat_host_XXXXXX";
    const int file = mkstemp(path.data());
    ASSERT_GE(file, 0);
    const std::vector<char> zeros(size, 1);
    ASSERT_EQ(write(file, zeros.data(), size), static_cast<ssize_t>(size));
    ASSERT_EQ(fsync(file), 0);
    struct stat status {};
    fstat(file, &status);
    close(file);
    const int direct = ::open(path.c_str(), O_RDONLY | O_DIRECT);
    unlink(path.c_str());
    const int64_t before = bytes_read(kc, status.st_dev);
    if (direct < 0 || before < 0) GTEST_SKIP() << "SKIPPED: no disk of its own under " << path;
    void* const buffer = std::aligned_alloc(4096, size);
    EXPECT_EQ(::read(direct, buffer, size), static_cast<ssize_t>(size));
    std::free(buffer);
    close(direct);
    EXPECT_TRUE(eventually(
        [&] { return bytes_read(kc, status.st_dev) >= before + static_cast<int64_t>(size); }));
}

/// Calls of read(2) and pread(2) by this thread so far; nothing where the kernel does not count them.
std::optional<int64_t> reads_so_far() {
    std::ifstream counters("/proc/thread-self/io");
    std::string name;
    int64_t value = 0;
    while (counters >> name >> value) {
        if (name == "syscr:") return value;
    }
    return std::nullopt;
}

int64_t reads_for(const std::function<void()>& work) {
    const int64_t before = reads_so_far().value_or(0);
    work();
    return reads_so_far().value_or(0) - before;
}

// The kstats of a sweep share what was read in the last 5 ms. On a busy machine a sweep may take longer, so it
// has several tries. Seen here, with 24 kstats: 24 reads for opening and 24 for a sweep. If each kstat
// reads its files itself, 64 reads.
TEST_F(KstatHost, CostsLittle) {
    if (!reads_so_far()) GTEST_SKIP() << "SKIPPED: this kernel does not count the calls of read(2)";
    int64_t kstats = 0;
    for (const kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) ++kstats;
    kstat_ctl_t* other = nullptr;
    EXPECT_LT(reads_for([&] { other = kstat_open(); }), 4 * kstats);
    kstat_close(other);
    int64_t reads = 0;
    const auto sweep = [&] {
        for (kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
            kstat_read(kc, ksp, nullptr);
        }
    };
    EXPECT_TRUE(eventually([&] {
        reads = reads_for(sweep);
        return reads < kstats + 16;
    })) << reads
        << " reads for " << kstats << " kstats";
    EXPECT_GT(reads, 0);
}

}  // namespace

}  // namespace blkscope
