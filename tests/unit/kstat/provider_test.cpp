// kstat_create and its sisters, through the C interface.
#include <gtest/gtest.h>
#include <sys/kstat.h>
#include <sys/mutex.h>

#include <string>

#include "kstat/registry/chain.hpp"
#include "kstat/registry/operations.hpp"

namespace blkscope {

namespace {

// The text that kstat_create wrote to standard error while refusing.
std::string refusal(const char* name, uchar_t type, uint_t ndata, int flags) {
    testing::internal::CaptureStderr();
    const kstat_t* const ksp =
        kstat_create("mod", 3, name, "misc", type, ndata, static_cast<uchar_t>(flags));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(ksp, nullptr);
    return said;
}

TEST(KstatCreate, FillsTheHeader) {
    const hrtime_t before = gethrtime();
    kstat_t* const ksp = kstat_create("mod", 3, "n", "disk", KSTAT_TYPE_IO, 1, 0);
    ASSERT_NE(ksp, nullptr);
    EXPECT_STREQ(ksp->ks_module, "mod");
    EXPECT_STREQ(ksp->ks_name, "n");
    EXPECT_STREQ(ksp->ks_class, "disk");
    EXPECT_EQ(ksp->ks_instance, 3);
    EXPECT_GE(ksp->ks_kid, 2);
    EXPECT_EQ(ksp->ks_flags, KSTAT_FLAG_INVALID);
    EXPECT_EQ(ksp->ks_data_size, sizeof(kstat_io_t));
    EXPECT_EQ(KSTAT_IO_PTR(ksp)->reads, 0u);
    EXPECT_EQ(ksp->ks_crtime, ksp->ks_snaptime);
    EXPECT_GT(ksp->ks_crtime, before - 1'000'000);
    EXPECT_EQ(ksp->ks_lock, nullptr);
    EXPECT_EQ(ksp->ks_private, nullptr);
    EXPECT_TRUE(ksp->ks_update != nullptr);
    kstat_delete(ksp);
}

TEST(KstatCreate, NamesANamelessKstatAfterModuleAndInstance) {
    kstat_t* const ksp = kstat_create("sd", 3, nullptr, "disk", KSTAT_TYPE_IO, 1, 0);
    EXPECT_STREQ(ksp->ks_name, "sd3");
    kstat_delete(ksp);
}

TEST(KstatCreate, LeavesTheDataOfAVirtualOneToItsProvider) {
    kstat_t* const ksp =
        kstat_create("mod", 0, "v", "misc", KSTAT_TYPE_NAMED, 2, KSTAT_FLAG_VIRTUAL);
    EXPECT_EQ(ksp->ks_data, nullptr);
    EXPECT_EQ(ksp->ks_data_size, 96u);
    kstat_delete(ksp);
}

TEST(KstatCreate, RefusesATypeThatIsNone) {
    EXPECT_EQ(refusal("n", 5, 1, 0), "kstat_create('mod', 3, 'n'): invalid kstat type 5\n");
}

TEST(KstatCreate, RefusesPersistentVirtual) {
    EXPECT_EQ(refusal("n", KSTAT_TYPE_RAW, 1, KSTAT_FLAG_PERSISTENT | KSTAT_FLAG_VIRTUAL),
              "kstat_create('mod', 3, 'n'): cannot create persistent virtual kstat\n");
}

TEST(KstatCreate, RefusesVariableSizePhysical) {
    EXPECT_EQ(refusal("n", KSTAT_TYPE_RAW, 1, KSTAT_FLAG_VAR_SIZE),
              "kstat_create('mod', 3, 'n'): cannot create variable-size physical kstat\n");
}

TEST(KstatCreate, RefusesWrongNumbersOfRecords) {
    EXPECT_EQ(refusal("n", KSTAT_TYPE_IO, 2, 0),
              "kstat_create('mod', 3, 'n'): ks_ndata=2 out of range [1, 1]\n");
    EXPECT_EQ(refusal("n", KSTAT_TYPE_INTR, 0, 0),
              "kstat_create('mod', 3, 'n'): ks_ndata=0 out of range [1, 1]\n");
    EXPECT_EQ(refusal("n", KSTAT_TYPE_NAMED, 0x80000000u, 0),
              "kstat_create('mod', 3, 'n'): ks_ndata=2147483648 out of range [0, 2147483647]\n");
}

TEST(KstatCreate, RefusesANameThatIsTakenAfterCutting) {
    const std::string cut(30, 'a');
    kstat_t* const ksp = kstat_create("mod", 3, (cut + "1").c_str(), "misc", KSTAT_TYPE_RAW, 1, 0);
    EXPECT_EQ(refusal((cut + "2").c_str(), KSTAT_TYPE_RAW, 1, 0),
              "kstat_create('mod', 3, '" + cut + "'): namespace collision\n");
    kstat_delete(ksp);
}

TEST(KstatCreate, AcceptsNoRecordsAtAll) {
    kstat_t* const ksp = kstat_create("mod", 0, "empty", "misc", KSTAT_TYPE_TIMER, 0, 0);
    ASSERT_NE(ksp, nullptr);
    EXPECT_EQ(ksp->ks_data, nullptr);
    kstat_install(ksp);
    EXPECT_EQ(kstat::read_kstat(kstat::Chain::of_this_process(), ksp->ks_kid).error, 0);
    kstat_delete(ksp);
}

TEST(KstatPersistence, ADormantKstatComesBackWithNumberTimeAndData) {
    kstat_t* const ksp =
        kstat_create("mod", 1, "p", "disk", KSTAT_TYPE_IO, 1, KSTAT_FLAG_PERSISTENT);
    const hrtime_t created = ksp->ks_crtime;
    const kid_t kid = ksp->ks_kid;
    kstat_install(ksp);
    KSTAT_IO_PTR(ksp)->reads = 17;
    kstat_delete(ksp);
    EXPECT_EQ(ksp->ks_flags, KSTAT_FLAG_PERSISTENT | KSTAT_FLAG_DORMANT);

    kstat_t* const again =
        kstat_create("mod", 1, "p", "disk", KSTAT_TYPE_IO, 1, KSTAT_FLAG_PERSISTENT);
    EXPECT_EQ(again, ksp);
    EXPECT_EQ(again->ks_crtime, created);
    EXPECT_EQ(again->ks_kid, kid);
    EXPECT_EQ(KSTAT_IO_PTR(again)->reads, 17u);
    EXPECT_NE(again->ks_flags & KSTAT_FLAG_INVALID, 0);
    kstat_install(again);
    EXPECT_EQ(again->ks_flags, KSTAT_FLAG_PERSISTENT);
}

TEST(KstatPersistence, ADormantKstatIsNotReusedInAnotherForm) {
    kstat_delete(kstat_create("mod", 3, "q", "disk", KSTAT_TYPE_IO, 1, KSTAT_FLAG_PERSISTENT));
    EXPECT_EQ(refusal("q", KSTAT_TYPE_IO, 1, KSTAT_FLAG_PERSISTENT),  // class misc
              "kstat_create('mod', 3, 'q'): invalid reactivation of dormant kstat\n");
}

int last_rw = -1;
int note_direction(kstat_t*, int rw) {
    last_rw = rw;
    return 0;
}

TEST(KstatPersistence, TheProviderIsAskedForItsLastValuesAndGivenThemBack) {
    kstat_t* ksp = kstat_create("mod", 1, "r", "misc", KSTAT_TYPE_RAW, 8, KSTAT_FLAG_PERSISTENT);
    ksp->ks_update = note_direction;
    kstat_install(ksp);
    EXPECT_EQ(last_rw, -1);
    kstat_delete(ksp);
    EXPECT_EQ(last_rw, KSTAT_READ);
    EXPECT_TRUE(ksp->ks_update != note_direction);
    ksp = kstat_create("mod", 1, "r", "misc", KSTAT_TYPE_RAW, 8, KSTAT_FLAG_PERSISTENT);
    ksp->ks_update = note_direction;
    kstat_install(ksp);
    EXPECT_EQ(last_rw, KSTAT_WRITE);
}

TEST(KstatInstall, MarksLongStrings) {
    kstat_t* const ksp = kstat_create("mod", 1, "s", "misc", KSTAT_TYPE_NAMED, 1, 0);
    kstat_named_init(KSTAT_NAMED_PTR(ksp), "text", KSTAT_DATA_STRING);
    kstat_install(ksp);
    EXPECT_EQ(ksp->ks_flags, KSTAT_FLAG_LONGSTRINGS);
    kstat_delete(ksp);
}

TEST(KstatInstall, AndDeleteWarnOfAPointerThatIsNoKstat) {
    kstat_t stranger{};
    testing::internal::CaptureStderr();
    kstat_install(&stranger);
    kstat_delete(&stranger);
    kstat_delete(nullptr);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("kstat_install: "), std::string::npos);
    EXPECT_NE(said.find("kstat_delete: "), std::string::npos);
}

TEST(KstatDelete, ByNameIsSilentAboutWhatIsNotThere) {
    ASSERT_NE(kstat_create("mod", 9, "gone", "misc", KSTAT_TYPE_RAW, 1, 0), nullptr);
    testing::internal::CaptureStderr();
    kstat_delete_byname("mod", 9, "gone");
    kstat_delete_byname("mod", 9, "gone");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(KstatHold, IsOfTheKstatThatNumberOrNameMeansAndEndsWithRele) {
    kstat_t* const ksp = kstat_create("mod", 4, "held", "misc", KSTAT_TYPE_RAW, 1, 0);
    EXPECT_EQ(kstat_hold_bykid(ksp->ks_kid, ALL_ZONES), ksp);
    kstat_rele(ksp);
    EXPECT_EQ(kstat_hold_byname("mod", 4, "held", GLOBAL_ZONEID), ksp);
    kstat_rele(ksp);
    EXPECT_EQ(kstat_hold_byname("mod", 4, "other", ALL_ZONES), nullptr);
    kstat_delete(ksp);
    EXPECT_EQ(kstat_hold_bykid(0, ALL_ZONES), nullptr);
}

TEST(KstatZones, AreFoundAddedAndRemoved) {
    kstat_t* const ksp = kstat_create_zone("mod", 4, "z", "misc", KSTAT_TYPE_RAW, 1, 0, 7);
    EXPECT_EQ(kstat_zone_find(ksp, 7), 1);
    EXPECT_EQ(kstat_zone_find(ksp, 8), 0);
    EXPECT_EQ(kstat_zone_find(ksp, ALL_ZONES), 1);
    kstat_zone_add(ksp, 8);
    EXPECT_EQ(kstat_zone_find(ksp, 8), 1);
    kstat_zone_remove(ksp, 7);
    EXPECT_EQ(kstat_zone_find(ksp, 7), 0);
    kstat_delete_byname_zone("mod", 4, "z", 7);
    EXPECT_EQ(kstat_zone_find(ksp, 8), 1);
    kstat_delete_byname_zone("mod", 4, "z", 8);
    EXPECT_EQ(kstat_zone_find(ksp, 8), 0);
}

TEST(KstatZones, WarnOfWhatIsNotThere) {
    kstat_t stranger{};
    testing::internal::CaptureStderr();
    kstat_zone_add(&stranger, 1);
    kstat_zone_remove(&stranger, 1);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("kstat_zone_add: "), std::string::npos);
    EXPECT_NE(said.find("kstat_zone_remove: "), std::string::npos);
}

TEST(KstatZones, ANetworkStackIsTheZoneOfItsNumber) {
    kstat_t* const ksp =
        kstat_create_netstack("ip", 0, "s", "net", KSTAT_TYPE_RAW, 1, 0, GLOBAL_NETSTACKID);
    EXPECT_EQ(kstat_zone_find(ksp, GLOBAL_ZONEID), 1);
    EXPECT_EQ(kstat_zone_find(ksp, 1), 0);
    kstat_delete_netstack(ksp, GLOBAL_NETSTACKID);
}

TEST(KstatHoldDeathTest, ReleasingWhatIsNotHeldAborts) {
    kstat_t* const ksp = kstat_create("mod", 4, "free", "misc", KSTAT_TYPE_RAW, 1, 0);
    EXPECT_DEATH(kstat_rele(ksp), "does not hold");
    EXPECT_DEATH((kstat_hold_bykid(ksp->ks_kid, ALL_ZONES), kstat_delete(ksp)), "its holder");
    kstat_delete(ksp);
}

TEST(KstatInstallDeathTest, AVariableSizeKstatWithoutALockAborts) {
    kstat_t* const ksp = kstat_create("mod", 1, "var", "misc", KSTAT_TYPE_RAW, 1,
                                      KSTAT_FLAG_VAR_SIZE | KSTAT_FLAG_VIRTUAL);
    EXPECT_DEATH(kstat_install(ksp), "needs a ks_lock");
}

TEST(KstatInstallDeathTest, AWritableKstatWithStringsNeedsItsOwnSnapshot) {
    kstat_t* const ksp =
        kstat_create("mod", 1, "ws", "misc", KSTAT_TYPE_NAMED, 1, KSTAT_FLAG_WRITABLE);
    kstat_named_init(KSTAT_NAMED_PTR(ksp), "text", KSTAT_DATA_STRING);
    EXPECT_DEATH(kstat_install(ksp), "needs a ks_snapshot");
}

TEST(KstatDeleteDeathTest, AbortsWhileTheCallerHoldsTheLock) {
    kmutex_t lock;
    mutex_init(&lock, nullptr, MUTEX_DRIVER, nullptr);
    kstat_t* const ksp = kstat_create("mod", 1, "locked", "misc", KSTAT_TYPE_RAW, 1, 0);
    ksp->ks_lock = &lock;
    EXPECT_DEATH((mutex_enter(&lock), kstat_delete(ksp)), "holds ks_lock");
    kstat_delete(ksp);
}

}  // namespace

}  // namespace blkscope
