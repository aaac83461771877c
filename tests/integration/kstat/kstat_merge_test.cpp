// Several providers, one chain.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mutex.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "child_process.hpp"

namespace blkscope {

namespace {

using KstatMerge = KstatProcesses;

TEST_F(KstatMerge, AChainWithoutProvidersHasTheTwoReservedKstatsAndTheHosts) {
    open();
    kstat_t* const headers = kc->kc_chain;
    EXPECT_STREQ(headers->ks_name, "kstat_headers");
    EXPECT_EQ(headers->ks_kid, 0);
    EXPECT_STREQ(headers->ks_next->ks_name, "kstat_types");
    EXPECT_EQ(headers->ks_next->ks_kid, 1);
    const std::set<std::string> hosts{"unix", "poll", "cpu", "cpu_info", "cpu_stat", "linux"};
    for (const kstat_t* ksp = headers; ksp != nullptr; ksp = ksp->ks_next) {
        EXPECT_TRUE(hosts.contains(ksp->ks_module)) << ksp->ks_module;
    }
    EXPECT_GT(kc->kc_chain_id, 0);
    EXPECT_EQ(kstat_chain_update(kc), 0);
}

// cgo and others report an errno that a call left behind.
TEST_F(KstatMerge, WhatSucceedsLeavesErrnoAlone) {
    const ReadyChild one(provide_counter("one"));
    constexpr int unused = 9'999;
    errno = unused;
    open();
    EXPECT_EQ(errno, unused);
    EXPECT_EQ(kstat_chain_update(kc), 0);
    EXPECT_EQ(errno, unused);
    for (kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        ASSERT_NE(kstat_read(kc, ksp, nullptr), -1) << ksp->ks_name;
        EXPECT_EQ(errno, unused) << ksp->ks_name;
    }
}

TEST_F(KstatMerge, KstatTypesNamesTheTypes) {
    open();
    kstat_t* const types = lookup("unix", "kstat_types");
    ASSERT_EQ(kstat_read(kc, types, nullptr), kc->kc_chain_id);
    for (const auto& [name, number] :
         {std::pair("raw", 0ul), std::pair("name=value", 1ul), std::pair("interrupt", 2ul),
          std::pair("i/o", 3ul), std::pair("event_timer", 4ul)}) {
        const auto* const record = static_cast<kstat_named_t*>(kstat_data_lookup(types, name));
        ASSERT_NE(record, nullptr) << name;
        EXPECT_EQ(record->value.ul, number);
    }
    EXPECT_EQ(kstat_write(kc, types, nullptr), -1);
    EXPECT_EQ(errno, EACCES);
}

TEST_F(KstatMerge, KstatHeadersHoldsTheHeadersOfTheChain) {
    const ReadyChild one(provide_counter("one"));
    open();
    kstat_t* const headers = lookup("unix", "kstat_headers");
    ASSERT_NE(kstat_read(kc, headers, nullptr), -1);
    size_t count = 0;
    for (const kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) ++count;
    ASSERT_EQ(headers->ks_data_size, count * sizeof(kstat_t));
    EXPECT_EQ(headers->ks_ndata, count);
    const auto* const copies = static_cast<const kstat_t*>(headers->ks_data);
    EXPECT_STREQ(copies[0].ks_name, "kstat_headers");
    EXPECT_STREQ(copies[count - 1].ks_module, "one");
    EXPECT_EQ(copies[count - 1].ks_kid, lookup("one")->ks_kid);
}

TEST_F(KstatMerge, TheKstatsOfSeveralProvidersStandInOneChainInTheOrderOfTheirNumbers) {
    const ChildProcess one(provide_counter("one"));
    const ChildProcess two(provide_counter("two"));
    const ChildProcess three(provide_counter("three"));
    for (const ChildProcess* child : {&one, &two, &three}) ASSERT_EQ(child->line().hear(), 'r');
    open();
    std::set<std::string> modules;
    kid_t last = -1;
    for (const kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        EXPECT_GT(ksp->ks_kid, last);
        last = ksp->ks_kid;
        modules.insert(ksp->ks_module);
    }
    for (const char* module : {"unix", "one", "two", "three"}) {
        EXPECT_TRUE(modules.contains(module)) << module;
    }
    char data[4];
    ASSERT_EQ(kstat_read(kc, lookup("two"), data), kc->kc_chain_id);
    EXPECT_EQ(std::memcmp(data, "abcd", 4), 0);
}

TEST_F(KstatMerge, ASurvivorKeepsItsPlaceAndDataWhileOthersComeAndGo) {
    const ChildProcess one(provide_counter("one"));
    ChildProcess two(provide_counter("two"));
    ASSERT_EQ(one.line().hear() + two.line().hear(), 2 * 'r');
    open();
    kstat_t* const survivor = lookup("one");
    const kid_t number = survivor->ks_kid;
    ASSERT_NE(kstat_read(kc, survivor, nullptr), -1);
    const void* const data = survivor->ks_data;

    two.line().say('q');
    EXPECT_EQ(two.wait(), 0);
    const kid_t before = kc->kc_chain_id;
    const kid_t after = kstat_chain_update(kc);
    EXPECT_NE(after, 0);
    EXPECT_NE(after, before);
    EXPECT_EQ(kc->kc_chain_id, after);
    EXPECT_EQ(lookup("two"), nullptr);
    EXPECT_EQ(errno, ENOENT);

    const ReadyChild three(provide_counter("three"));
    EXPECT_NE(kstat_chain_update(kc), 0);
    EXPECT_EQ(lookup("one"), survivor);
    EXPECT_EQ(survivor->ks_kid, number);
    EXPECT_EQ(survivor->ks_data, data);
    EXPECT_EQ(lookup("three")->ks_next, nullptr);  // a new kstat is the last one
    EXPECT_EQ(lookup("three")->ks_data, nullptr);
    EXPECT_EQ(kstat_chain_update(kc), 0);
}

// A kstat that its provider deletes, creates, and installs, a step at a time.
void recreate(const Line& line) {
    kstat_t* ksp = kstat_create("one", 0, "it", "misc", KSTAT_TYPE_RAW, 4, 0);
    kstat_install(ksp);
    line.say('i');
    if (line.hear() == 0) return;
    kstat_delete(ksp);
    line.say('d');
    if (line.hear() == 0) return;
    ksp = kstat_create("one", 0, "it", "misc", KSTAT_TYPE_RAW, 4, 0);
    line.say('c');
    if (line.hear() == 0) return;
    kstat_install(ksp);
    line.say('i');
    line.hear();
}

TEST_F(KstatMerge, ARecreatedKstatIsANewOneAndFoundThoughAnUpdateCameBeforeItsInstallation) {
    const ChildProcess child(recreate);
    ASSERT_EQ(child.line().hear(), 'i');
    open();
    kstat_t* const first = lookup("one");
    const kid_t number = first->ks_kid;
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'd');
    EXPECT_EQ(kstat_read(kc, first, nullptr), -1);
    EXPECT_EQ(errno, ENXIO);
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'c');
    EXPECT_NE(kstat_chain_update(kc), 0);
    EXPECT_EQ(lookup("one"), nullptr);
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'i');
    EXPECT_NE(kstat_chain_update(kc), 0);
    ASSERT_NE(lookup("one"), nullptr);
    EXPECT_GT(lookup("one")->ks_kid, number);
}

void add_another(const Line& line) {
    kstat_install(kstat_create("one", 0, "a", "misc", KSTAT_TYPE_RAW, 4, 0));
    take_turns(line);
    kstat_install(kstat_create("one", 0, "b", "misc", KSTAT_TYPE_RAW, 4, 0));
    take_turns(line);
}

TEST_F(KstatMerge, AReadTellsThatTheChainHasMovedOn) {
    const ReadyChild child(add_another);
    open();
    EXPECT_EQ(kstat_read(kc, lookup("one", "a"), nullptr), kc->kc_chain_id);
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'r');
    const kid_t seen = kstat_read(kc, lookup("one", "a"), nullptr);
    EXPECT_NE(seen, kc->kc_chain_id);
    EXPECT_EQ(kstat_chain_update(kc), seen);
    EXPECT_EQ(kstat_read(kc, lookup("one", "b"), nullptr), seen);
}

// As Solaris' monitors do, which read one kstat and refresh when the number differs.
TEST_F(KstatMerge, AReadTellsThatAnotherProviderCameOrWent) {
    const ReadyChild one(provide_counter("one"));
    open();
    const auto moves_on = [&] {
        return kstat_read(kc, lookup("one"), nullptr) == kc->kc_chain_id + 1;
    };
    ReadyChild two(provide_counter("two"));
    EXPECT_TRUE(eventually(moves_on));
    EXPECT_EQ(lookup("two"), nullptr);
    EXPECT_TRUE(moves_on());  // until the update
    EXPECT_NE(kstat_chain_update(kc), 0);
    EXPECT_NE(lookup("two"), nullptr);
    EXPECT_FALSE(moves_on());

    two.line().say('q');
    EXPECT_EQ(two.wait(), 0);
    EXPECT_TRUE(eventually(moves_on));
    EXPECT_NE(kstat_chain_update(kc), 0);
    EXPECT_EQ(lookup("two"), nullptr);
    EXPECT_FALSE(moves_on());
}

// The host's kstats and the reader's own have no provider, and tell it as well.
TEST_F(KstatMerge, AReadOfTheReadersOwnKstatsTellsThatAProviderCame) {
    open();
    const ReadyChild one(provide_counter("one"));
    EXPECT_TRUE(eventually(
        [&] { return kstat_read(kc, lookup("unix", "kstat_types"), nullptr) != kc->kc_chain_id; }));
    EXPECT_NE(kstat_chain_update(kc), 0);
    EXPECT_NE(lookup("one"), nullptr);
}

// File times move in ticks, so a change may leave the directory's time as it is. Here the tick lasts
// some seconds.
TEST_F(KstatMerge, AReadTellsOfAProviderThatCameInTheTickOfTheUpdate) {
    const ReadyChild one(provide_counter("one"));
    timespec end{};
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 5;
    const timespec times[]{end, end};
    ASSERT_EQ(utimensat(AT_FDCWD, directory.c_str(), times, 0), 0);
    open();
    const ReadyChild two(provide_counter("two"));
    ASSERT_EQ(utimensat(AT_FDCWD, directory.c_str(), times, 0), 0);
    EXPECT_TRUE(
        eventually([&] { return kstat_read(kc, lookup("one"), nullptr) != kc->kc_chain_id; }));
    EXPECT_NE(kstat_chain_update(kc), 0);
    EXPECT_NE(lookup("two"), nullptr);
}

TEST_F(KstatMerge, AProviderThatWasKilledEndsTheChainWithTheReadThatFindsIt) {
    const ReadyChild one(provide_counter("one"));
    ReadyChild two(provide_counter("two"));
    open();
    two.kill();
    EXPECT_EQ(kstat_read(kc, lookup("two"), nullptr), -1);
    EXPECT_EQ(errno, ENXIO);
    EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), kc->kc_chain_id);
    EXPECT_NE(kstat_chain_update(kc), 0);
    // The update removed the dead socket, which is no further change.
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(kstat_read(kc, lookup("one"), nullptr), kc->kc_chain_id);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

TEST_F(KstatMerge, AForeignFileIsNoReasonToRefreshForEver) {
    const ReadyChild one(provide_counter("one"));
    open();
    const auto ids_stay_equal = [&] {
        for (int i = 0; i < 20; ++i) {
            if (kstat_read(kc, lookup("one"), nullptr) != kc->kc_chain_id) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return true;
    };
    for (const char* const name : {"notes", "1.sock"}) {
        const std::string path = directory + "/" + name;
        close(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        EXPECT_EQ(kstat_chain_update(kc), 0) << name;
        EXPECT_TRUE(ids_stay_equal()) << name;
        ASSERT_EQ(unlink(path.c_str()), 0);
        EXPECT_TRUE(ids_stay_equal()) << name;
    }
    // A provider whose socket was removed goes on, and its kstats stay.
    ASSERT_EQ(unlink((directory + "/" + socket_of(one.pid())).c_str()), 0);
    kid_t told = 0;
    EXPECT_TRUE(eventually(
        [&] { return (told = kstat_read(kc, lookup("one"), nullptr)) != kc->kc_chain_id; }));
    EXPECT_EQ(kstat_chain_update(kc), told);
    EXPECT_TRUE(ids_stay_equal());
}

// As top does, which updates until the numbers are equal.
TEST_F(KstatMerge, AProviderThatCameAndWentBetweenUpdatesMovesTheChainOn) {
    const ReadyChild one(provide_counter("one"));
    open();
    const auto read = [&] { return kstat_read(kc, lookup("one"), nullptr); };
    kid_t told = 0;
    {
        ReadyChild two(provide_counter("two"));
        EXPECT_TRUE(eventually([&] { return (told = read()) != kc->kc_chain_id; }));
        two.line().say('q');
        EXPECT_EQ(two.wait(), 0);
    }
    EXPECT_EQ(kstat_chain_update(kc), told);
    EXPECT_EQ(read(), told);
    EXPECT_EQ(kstat_chain_update(kc), 0);
}

void leave_dormant(const Line& line) {
    kstat_t* const ksp =
        kstat_create("one", 0, "disk", "disk", KSTAT_TYPE_IO, 1, KSTAT_FLAG_PERSISTENT);
    kstat_install(ksp);
    KSTAT_IO_PTR(ksp)->reads = 5;
    kstat_delete(ksp);
    take_turns(line);
}

TEST_F(KstatMerge, ADormantKstatStaysReadableWithItsLastValues) {
    const ReadyChild child(leave_dormant);
    open();
    kstat_t* const ksp = lookup("one");
    kstat_io_t io;
    ASSERT_NE(kstat_read(kc, ksp, &io), -1);
    EXPECT_EQ(io.reads, 5u);
    EXPECT_NE(ksp->ks_flags & KSTAT_FLAG_DORMANT, 0);
}

// A NAMED kstat whose string grows with every read.
std::string grown;
int grow(kstat_t* ksp, int) {
    grown += "0123456789";
    kstat_named_setstr(KSTAT_NAMED_PTR(ksp), grown.c_str());
    ksp->ks_data_size = sizeof(kstat_named_t) + KSTAT_NAMED_STR_BUFLEN(KSTAT_NAMED_PTR(ksp));
    return 0;
}
void provide_growing(const Line& line) {
    static kmutex_t lock;
    static kstat_named_t record;
    mutex_init(&lock, nullptr, MUTEX_DRIVER, nullptr);
    kstat_named_init(&record, "text", KSTAT_DATA_STRING);
    kstat_t* const ksp = kstat_create("one", 0, "grows", "misc", KSTAT_TYPE_NAMED, 1,
                                      KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE);
    ksp->ks_data = &record;
    ksp->ks_lock = &lock;
    ksp->ks_update = grow;
    kstat_install(ksp);
    take_turns(line);
    kstat_delete(ksp);
}

TEST_F(KstatMerge, AKstatMayGrowBetweenTwoReads) {
    const ReadyChild child(provide_growing);
    open();
    kstat_t* const ksp = lookup("one");
    for (size_t length = 10; length <= 50; length += 10) {
        ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
        const auto* const text = static_cast<kstat_named_t*>(kstat_data_lookup(ksp, "text"));
        EXPECT_EQ(std::strlen(KSTAT_NAMED_STR_PTR(text)), length);
        EXPECT_EQ(ksp->ks_data_size, sizeof(kstat_named_t) + length + 1);
    }
    EXPECT_EQ(kstat_data_lookup(ksp, "other"), nullptr);
    EXPECT_EQ(errno, ENOENT);
}

TEST_F(KstatMerge, StringsOfTheCallersCopyPointIntoTheCallersCopy) {
    const ReadyChild child(provide_growing);
    open();
    alignas(kstat_named_t) char buffer[256];
    ASSERT_NE(kstat_read(kc, lookup("one"), buffer), -1);
    kstat_named_t record;
    std::memcpy(&record, buffer, sizeof record);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&record), buffer + sizeof record);
}

TEST_F(KstatMerge, AReadThroughACopyOfTheHeaderReadsTheSameKstat) {
    const ReadyChild one(provide_counter("one"));
    open();
    kstat_t copy = *lookup("one");
    ASSERT_NE(kstat_read(kc, &copy, nullptr), -1);
    EXPECT_EQ(std::memcmp(copy.ks_data, "abcd", 4), 0);
    EXPECT_EQ(lookup("one")->ks_data, nullptr);
    std::free(copy.ks_data);
}

// The copy has the chain's memory, which such a read must replace. Both have the new one.
TEST_F(KstatMerge, AReadThroughACopyThatHasTheChainsMemoryLeavesTheChainWhole) {
    const ReadyChild child(provide_growing);
    open();
    kstat_t* const ksp = lookup("one");
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
    kstat_t copy = *ksp;
    ASSERT_NE(kstat_read(kc, &copy, nullptr), -1);
    EXPECT_EQ(copy.ks_data, ksp->ks_data);
    EXPECT_EQ(copy.ks_data_size, sizeof(kstat_named_t) + 21);
    EXPECT_EQ(ksp->ks_data_size, copy.ks_data_size);
    EXPECT_EQ(ksp->ks_snaptime, copy.ks_snaptime);
    const auto* const text = static_cast<kstat_named_t*>(kstat_data_lookup(ksp, "text"));
    EXPECT_EQ(std::strlen(KSTAT_NAMED_STR_PTR(text)), 20u);
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
}

// Two kstats of one provider, whose data are their names.
void provide_two(const Line& line) {
    std::vector<kstat_t*> made;
    for (const char* const name : {"aaaa", "bbbb"}) {
        made.push_back(kstat_create("two", 0, name, "misc", KSTAT_TYPE_RAW, 4, 0));
        std::memcpy(made.back()->ks_data, name, 4);
        kstat_install(made.back());
    }
    line.say('r');
    line.hear();
    for (kstat_t* const ksp : made) kstat_delete(ksp);
}

// As a descriptor of Solaris' /dev/kstat does.
TEST_F(KstatMerge, AHandleServesTheParentAndTheChildOfAFork) {
    const ChildProcess provider(provide_two);
    ASSERT_EQ(provider.line().hear(), 'r');
    open();
    constexpr int reads = 2'000;
    const auto right_reads = [&](const char* name) {
        kstat_t* const ksp = lookup("two", name);
        int right = 0;
        for (int i = 0; i < reads; ++i) {
            right += kstat_read(kc, ksp, nullptr) != -1 && std::memcmp(ksp->ks_data, name, 4) == 0;
        }
        return right;
    };
    ASSERT_EQ(right_reads("aaaa"), reads);
    const ChildProcess child([&](const Line& line) {
        line.say(right_reads("bbbb") == reads && kstat_chain_update(kc) == 0 ? 'g' : 'b');
    });
    EXPECT_EQ(right_reads("aaaa"), reads);
    EXPECT_EQ(child.line().hear(), 'g');
    EXPECT_EQ(right_reads("aaaa"), reads);
}

TEST_F(KstatMerge, LookupTakesWildcards) {
    const ReadyChild one(provide_counter("one"));
    open();
    EXPECT_EQ(kstat_lookup(kc, nullptr, -1, nullptr), kc->kc_chain);
    EXPECT_EQ(kstat_lookup(kc, nullptr, 0, "counter"), lookup("one"));
    EXPECT_EQ(kstat_lookup(kc, "one", 1, nullptr), nullptr);
    EXPECT_EQ(kstat_data_lookup(lookup("one"), "x"), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

}  // namespace

}  // namespace blkscope
