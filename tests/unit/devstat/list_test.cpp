// The list as a FreeBSD program reads it, of entries that this process publishes.
#include <devstat.h>
#include <gtest/gtest.h>
#include <sys/kstat.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../temporary_folder.hpp"
#include "devstat/entries/entry.hpp"

namespace blkscope {
namespace {

using devstat::Devstat;
using Names = std::vector<std::string>;

class DevstatList : public testing::Test {
  protected:
    void SetUp() override { stats_.dinfo = &info_; }

    void TearDown() override {
        for (Devstat* entry : entries_) devstat_remove_entry(entry);
        std::free(info_.mem_ptr);
    }

    Devstat* add(const char* name, int unit, devstat_priority priority = DEVSTAT_PRIORITY_DISK) {
        entries_.push_back(devstat_new_entry(name, unit, 512, DEVSTAT_ALL_SUPPORTED,
                                             DEVSTAT_TYPE_DIRECT, priority));
        return entries_.back();
    }

    void remove(Devstat* entry) {
        std::erase(entries_, entry);
        devstat_remove_entry(entry);
    }

    int get() { return devstat_getdevs(nullptr, &stats_); }

    [[nodiscard]] Names names() const {
        Names names;
        for (int i = 0; i < info_.numdevs; ++i) {
            names.push_back(info_.devices[i].device_name +
                            std::to_string(info_.devices[i].unit_number));
        }
        return names;
    }

    const test::RunFolder directory_;
    std::vector<Devstat*> entries_;
    statinfo stats_{};
    devinfo info_{};
};

TEST_F(DevstatList, MayBeEmpty) {
    EXPECT_EQ(devstat_getnumdevs(nullptr), 0);
    EXPECT_GE(devstat_getgeneration(nullptr), 1);
    EXPECT_EQ(devstat_checkversion(nullptr), 0);
    EXPECT_EQ(get(), 1);
    EXPECT_EQ(info_.numdevs, 0);
    EXPECT_NE(info_.devices, nullptr);
    EXPECT_EQ(get(), 0);
}

TEST_F(DevstatList, IsInTheOrderOfPriorityAndThenOfCreation) {
    add("cd", 0, DEVSTAT_PRIORITY_CD);
    add("vbd", 1);
    add("vbd", 0);
    add("md", 0, DEVSTAT_PRIORITY_ARRAY);
    add("cd", 1, DEVSTAT_PRIORITY_CD);
    EXPECT_EQ(get(), 1);
    EXPECT_EQ(names(), (Names{"md0", "vbd1", "vbd0", "cd0", "cd1"}));
    const std::vector<unsigned> numbers{3, 1, 2, 0, 4};
    for (size_t i = 0; i < numbers.size(); ++i) {
        EXPECT_EQ(info_.devices[i].device_number, info_.devices[3].device_number + numbers[i]);
    }
    EXPECT_EQ(devstat_getnumdevs(nullptr), 5);
}

TEST_F(DevstatList, EveryChangeOfItIsANewGeneration) {
    Devstat* const first = add("vbd", 0);
    EXPECT_EQ(get(), 1);
    const long generation = info_.generation;
    const uint32_t number = info_.devices[0].device_number;
    EXPECT_EQ(get(), 0);
    add("vbd", 1);
    EXPECT_EQ(get(), 1);
    EXPECT_EQ(info_.generation, generation + 1);
    EXPECT_EQ(info_.numdevs, 2);
    remove(first);
    EXPECT_EQ(get(), 1);
    EXPECT_EQ(info_.generation, generation + 2);
    EXPECT_EQ(names(), (Names{"vbd1"}));
    EXPECT_EQ(info_.devices[0].device_number, number + 1);
    add("vbd", 0);
    EXPECT_EQ(get(), 1);
    EXPECT_EQ(info_.devices[1].device_number, number + 2);  // never the first one's again
    EXPECT_EQ(devstat_getgeneration(nullptr), generation + 3);
    EXPECT_EQ(get(), 0);
}

TEST_F(DevstatList, LeavesOutAnEntryWithoutANameThoughItCountsAsAChange) {
    add("vbd", 0);
    EXPECT_EQ(get(), 1);
    static int geom;
    entries_.push_back(devstat_new_entry(&geom, -1, 512, DEVSTAT_ALL_SUPPORTED, DEVSTAT_TYPE_DIRECT,
                                         DEVSTAT_PRIORITY_MAX));
    EXPECT_EQ(get(), 1);
    EXPECT_EQ(names(), (Names{"vbd0"}));
    EXPECT_EQ(devstat_getnumdevs(nullptr), 1);
}

TEST_F(DevstatList, AnotherKstatIsNoChange) {
    add("vbd", 0);
    EXPECT_EQ(get(), 1);
    kstat_t* const other = kstat_create("other", 0, nullptr, "misc", KSTAT_TYPE_RAW, 8, 0);
    kstat_install(other);
    EXPECT_EQ(get(), 0);
    kstat_delete(other);
    EXPECT_EQ(get(), 0);
}

TEST_F(DevstatList, GrowsWithoutTheCallersHelp) {
    add("vbd", 0);
    ASSERT_EQ(get(), 1);
    for (int unit = 1; unit < 100; ++unit) add("vbd", unit);
    ASSERT_EQ(get(), 1);
    EXPECT_EQ(info_.numdevs, 100);
    EXPECT_EQ(info_.devices[99].unit_number, 99);
}

TEST_F(DevstatList, HasTheCountersOfTheMoment) {
    Devstat* const entry = add("vbd", 0);
    ASSERT_EQ(get(), 1);
    EXPECT_EQ(info_.devices[0].operations[DEVSTAT_READ], 0u);
    const long double before = stats_.snap_time;
    devstat_start_transaction(entry, nullptr);
    devstat_end_transaction(entry, 4096, DEVSTAT_TAG_SIMPLE, DEVSTAT_READ, nullptr, nullptr);
    devstat_start_transaction(entry, nullptr);
    ASSERT_EQ(get(), 0);
    EXPECT_EQ(info_.devices[0].bytes[DEVSTAT_READ], 4096u);
    EXPECT_EQ(info_.devices[0].start_count - info_.devices[0].end_count, 1u);
    EXPECT_EQ(info_.devices[0].sequence0, info_.devices[0].sequence1);
    EXPECT_GE(stats_.snap_time, before);
    devstat_end_transaction(entry, 0, DEVSTAT_TAG_NONE, DEVSTAT_NO_DATA, nullptr, nullptr);
}

TEST_F(DevstatList, HoldsTogetherWhileDevicesComeAndGo) {
    add("vbd", 0);
    std::atomic<bool> done{false};
    std::thread changes([&] {
        for (int unit = 1; !done; unit = unit % 50 + 1) {
            Devstat* const entry = devstat_new_entry("tmp", unit, 512, DEVSTAT_ALL_SUPPORTED,
                                                     DEVSTAT_TYPE_DIRECT, DEVSTAT_PRIORITY_DISK);
            devstat_remove_entry(entry);
            std::this_thread::yield();
        }
    });
    long generation = 0;
    for (int i = 0; i < 300; ++i) {
        const int result = get();
        if (result < 0) {  // the list may change faster than a reader copies it
            EXPECT_NE(std::string(devstat_errbuf).find("error getting device stats"),
                      std::string::npos);
            continue;
        }
        EXPECT_EQ(result == 1, info_.generation != generation);
        EXPECT_GE(info_.generation, generation);
        generation = info_.generation;
        ASSERT_GE(info_.numdevs, 1);
        EXPECT_EQ(names()[0], "vbd0");
    }
    done = true;
    changes.join();
    EXPECT_GE(get(), 0);
    EXPECT_EQ(names(), (Names{"vbd0"}));
}

TEST_F(DevstatList, LeavesOutEntriesOfAnotherVersionAndTells) {
    add("vbd", 0);
    kstat_t* const foreign =
        kstat_create("devstat", 9, "new9", "devstat", KSTAT_TYPE_RAW, sizeof(devstat::Record), 0);
    static_cast<devstat::Record*>(foreign->ks_data)->version = 7;
    static_cast<devstat::Record*>(foreign->ks_data)->size = 288;
    kstat_install(foreign);
    EXPECT_EQ(get(), 1);
    EXPECT_EQ(names(), (Names{"vbd0"}));
    EXPECT_EQ(devstat_getversion(nullptr), 7);
    EXPECT_EQ(devstat_checkversion(nullptr), -1);
    EXPECT_STREQ(devstat_errbuf,
                 "devstat_checkversion: userland devstat version 6 is not the same as the kernel\n"
                 "devstat_checkversion: devstat version 7\n"
                 "devstat_checkversion: kernel newer than libdevstat\n");
    kstat_delete(foreign);
    EXPECT_EQ(devstat_checkversion(nullptr), 0);
}

std::atomic<hrtime_t> fetched{0};

// The counters are of the fetch, and so is the time by which a rate is divided.
TEST_F(DevstatList, SnapTimeIsNotBeforeTheCounters) {
    kstat_t* const last =
        kstat_create("devstat", 9, "new9", "devstat", KSTAT_TYPE_RAW, sizeof(devstat::Record), 0);
    static_cast<devstat::Record*>(last->ks_data)->version = 7;
    last->ks_update = [](kstat_t*, int) {
        fetched = gethrtime();
        return 0;
    };
    kstat_install(last);
    EXPECT_GE(get(), 0);
    kstat_delete(last);
    ASSERT_GT(fetched, 0);
    EXPECT_GE(static_cast<hrtime_t>(stats_.snap_time * 1e9L) + 1, fetched);
}

TEST_F(DevstatList, NeedsADinfo) {
    stats_.dinfo = nullptr;
    EXPECT_EQ(get(), -1);
    EXPECT_STREQ(devstat_errbuf, "devstat_getdevs: stats->dinfo was NULL");
}

TEST_F(DevstatList, ThereIsNoKernelMemory) {
    auto* const kernel = reinterpret_cast<kvm_t*>(&stats_);
    const std::string why =
        "readkmem_nl: error getting name list (kvm_nlist): there is no kernel memory to read; pass "
        "NULL";
    EXPECT_EQ(devstat_getnumdevs(kernel), -1);
    EXPECT_EQ(devstat_errbuf, why);
    EXPECT_EQ(devstat_getgeneration(kernel), -1);
    EXPECT_EQ(devstat_getversion(kernel), -1);
    devstat_errbuf[0] = '\0';
    EXPECT_EQ(devstat_getdevs(kernel, &stats_), -1);
    EXPECT_EQ(devstat_errbuf, why);
    EXPECT_EQ(devstat_checkversion(kernel), -1);
    EXPECT_EQ(devstat_errbuf,
              why +
                  "\ndevstat_checkversion: userland devstat version 6 is not the same as the "
                  "kernel\ndevstat_checkversion: devstat version -1\n"
                  "devstat_checkversion: libdevstat newer than kernel\n");
}

// In a process of its own, which has not looked yet.
TEST_F(DevstatList, SaysWhyItCannotBeHad) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(
        {
            std::ofstream(directory_ / "file").put('x');
            setenv("KSTAT_DIR", (directory_ / "file").c_str(), 1);
            const int devices = devstat_getnumdevs(nullptr);
            std::fputs(devstat_errbuf, stderr);
            const int result = get();
            std::fputs(devstat_errbuf, stderr);
            std::filesystem::remove_all(directory_);
            std::_Exit(devices == -1 && result == -1 ? 0 : 1);
        },
        testing::ExitedWithCode(0),
        "^(devstat_getnumdevs: error getting number of devices\n"
        "devstat_getnumdevs: Not a directory){2}$");
}

}  // namespace
}  // namespace blkscope
