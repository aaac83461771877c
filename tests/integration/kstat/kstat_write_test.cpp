// The users that may write a kstat, and the values that they may write.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "child_process.hpp"

namespace blkscope {

namespace {

using KstatWrite = KstatProcesses;

constexpr uid_t nobody = 65534;

// A writable kstat and one that is not; `told` is what the provider was given last.
int32_t told = 0;
int take_limit(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) told = KSTAT_NAMED_PTR(ksp)->value.i32;
    KSTAT_NAMED_PTR(ksp)[1].value.i32 = told;
    return 0;
}
void provide_limit(const Line& line) {
    kstat_t* const limit =
        kstat_create("one", 0, "limit", "misc", KSTAT_TYPE_NAMED, 2, KSTAT_FLAG_WRITABLE);
    kstat_named_init(KSTAT_NAMED_PTR(limit), "limit", KSTAT_DATA_INT32);
    kstat_named_init(KSTAT_NAMED_PTR(limit) + 1, "told", KSTAT_DATA_INT32);
    limit->ks_update = take_limit;
    kstat_install(limit);
    kstat_install(kstat_create("one", 0, "fixed", "misc", KSTAT_TYPE_RAW, 4, 0));
    take_turns(line);
}

TEST_F(KstatWrite, ReachesTheProvider) {
    const ReadyChild child(provide_limit);
    open();
    kstat_t* const ksp = lookup("one", "limit");
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
    KSTAT_NAMED_PTR(ksp)->value.i32 = 42;
    EXPECT_EQ(kstat_write(kc, ksp, nullptr), kc->kc_chain_id);
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
    EXPECT_EQ(KSTAT_NAMED_PTR(ksp)[1].value.i32, 42);

    kstat_named_t records[2];
    std::memcpy(records, ksp->ks_data, sizeof records);
    records[0].value.i32 = 43;
    EXPECT_NE(kstat_write(kc, ksp, records), -1);
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
    EXPECT_EQ(KSTAT_NAMED_PTR(ksp)[1].value.i32, 43);
}

TEST_F(KstatWrite, IsRefusedForWhatIsNotWritableOrHasAnotherForm) {
    const ReadyChild child(provide_limit);
    open();
    kstat_t* const fixed = lookup("one", "fixed");
    ASSERT_NE(kstat_read(kc, fixed, nullptr), -1);
    EXPECT_EQ(kstat_write(kc, fixed, nullptr), -1);
    EXPECT_EQ(errno, EACCES);

    kstat_t* const limit = lookup("one", "limit");
    ASSERT_NE(kstat_read(kc, limit, nullptr), -1);
    KSTAT_NAMED_PTR(limit)->data_type = KSTAT_DATA_UINT64;
    EXPECT_EQ(kstat_write(kc, limit, nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(KstatWrite, IsForTheProvidersUserAndRootOnlyButAnyoneReads) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can become somebody else";
    const ReadyChild child(provide_limit);
    const ChildProcess stranger([&](const Line& line) {
        if (setuid(nobody) != 0) return;
        open();
        kstat_t* const ksp = lookup("one", "limit");
        line.say(ksp != nullptr && kstat_read(kc, ksp, nullptr) != -1 ? 'r' : '-');
        line.say(kstat_write(kc, ksp, nullptr) == -1 && errno == EPERM ? 'p' : '-');
        line.hear();
    });
    EXPECT_EQ(stranger.line().hear(), 'r');
    EXPECT_EQ(stranger.line().hear(), 'p');
}

TEST_F(KstatWrite, AStrangersProviderIsNotBelieved) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can become somebody else";
    ASSERT_EQ(chmod(directory.c_str(), 0777), 0);
    const ReadyChild stranger([](const Line& line) {
        if (setuid(nobody) == 0) provide_counter("stranger")(line);
    });
    open();
    EXPECT_EQ(lookup("stranger"), nullptr);
}

}  // namespace

}  // namespace blkscope
