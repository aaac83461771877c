#include "kstat/registry/chain.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace blkscope {

namespace {

class ChainTest : public testing::Test {
  protected:
    kstat_t* create(const char* name, zoneid_t zone = ALL_ZONES, uchar_t flags = 0) {
        kstat::Wanted wanted{};
        kstat_set_string(wanted.name.module, "mod");
        kstat_set_string(wanted.name.name, name);
        kstat_set_string(wanted.klass, "misc");
        wanted.type = KSTAT_TYPE_RAW;
        wanted.ndata = 1;
        wanted.zone = zone;
        wanted.flags = flags;
        kstat::Chain::Refusal why{};
        return chain.create(wanted, why);
    }

    kstat::Chain chain;
};

TEST_F(ChainTest, NumbersGrowWithCreationAndAreNotUsedAgain) {
    kstat_t* const first = create("a");
    const kid_t number = first->ks_kid;
    EXPECT_EQ(number, 2);
    EXPECT_TRUE(chain.remove(first));
    EXPECT_GT(create("a")->ks_kid, number);
}

TEST_F(ChainTest, ItsIdMovesOnCreateInstallAndDelete) {
    const kid_t empty = chain.id();
    kstat_t* const ksp = create("a");
    const kid_t created = chain.id();
    chain.install(ksp);
    const kid_t installed = chain.id();
    chain.remove(ksp);
    const kid_t removed = chain.id();
    EXPECT_LT(empty, created);
    EXPECT_LT(created, installed);
    EXPECT_LT(installed, removed);
    EXPECT_GT(empty, 0);
}

TEST_F(ChainTest, ListsInstalledKstatsOnlyInTheOrderOfTheirNumbers) {
    kstat_t* const a = create("a");
    kstat_t* const b = create("b");
    kstat_t* const c = create("c");
    chain.install(c);
    chain.install(a);
    const auto all = chain.headers(0, 10);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].ks_kid, a->ks_kid);
    EXPECT_EQ(all[1].ks_kid, c->ks_kid);
    EXPECT_EQ(chain.headers(a->ks_kid, 10).size(), 1u);
    EXPECT_EQ(chain.headers(0, 1).size(), 1u);
    chain.install(b);
    EXPECT_EQ(chain.headers(0, 10).size(), 3u);
}

TEST_F(ChainTest, DeletionWaitsForWhoeverHoldsTheKstat) {
    kstat_t* const ksp = create("a");
    std::atomic<bool> released{false};
    std::atomic<bool> deleted{false};
    bool was_released_first = false;
    std::thread deleter;
    {
        const auto held = chain.hold(ksp->ks_kid, GLOBAL_ZONEID);
        ASSERT_TRUE(held);
        deleter = std::thread([&] {
            chain.remove(ksp);
            was_released_first = released;
            deleted = true;
        });
        std::this_thread::yield();
        EXPECT_FALSE(deleted);
        EXPECT_EQ(held->get()->ks_kid, ksp->ks_kid);
        released = true;
    }
    deleter.join();
    EXPECT_TRUE(was_released_first);
    EXPECT_FALSE(chain.hold(2, ALL_ZONES));
}

TEST_F(ChainTest, AnInheritedKstatCanStillBeDeletedButIsNoLongerFound) {
    kstat_t* const inherited = create("a");
    chain.install(inherited);
    chain.before_fork();
    chain.after_fork_in_child();
    EXPECT_TRUE(chain.headers(0, 10).empty());
    kstat_t* const own = create("a");
    ASSERT_NE(own, nullptr);
    EXPECT_TRUE(chain.remove(inherited));
    chain.install(own);
    EXPECT_EQ(chain.headers(0, 10).size(), 1u);
}

TEST_F(ChainTest, AReaderSeesWhatTheGlobalZoneSees) {
    kstat_t* const ksp = create("a", 7);
    chain.install(ksp);
    EXPECT_TRUE(chain.headers(0, 10).empty());
    EXPECT_FALSE(chain.hold(ksp->ks_kid, GLOBAL_ZONEID));
    EXPECT_TRUE(chain.hold(ksp->ks_kid, 7));
    const kid_t before = chain.id();
    EXPECT_TRUE(chain.zone_add(ksp, GLOBAL_ZONEID));
    EXPECT_GT(chain.id(), before);
    EXPECT_EQ(chain.headers(0, 10).size(), 1u);
    EXPECT_TRUE(chain.zone_remove(ksp, GLOBAL_ZONEID));
    EXPECT_FALSE(chain.zone_remove(ksp, GLOBAL_ZONEID));
    EXPECT_TRUE(chain.headers(0, 10).empty());
}

TEST_F(ChainTest, ANameIsTakenOnlyInTheZonesThatSeeIt) {
    kstat_t* const seven = create("a", 7);
    kstat_t* const eight = create("a", 8);
    ASSERT_NE(eight, nullptr);
    EXPECT_EQ(create("a", 8), nullptr);
    EXPECT_EQ(create("a", ALL_ZONES), nullptr);
    EXPECT_TRUE(chain.remove(seven));
    EXPECT_EQ(chain.hold(eight->ks_kid, 8)->get(), eight);
    EXPECT_TRUE(chain.remove(eight));
}

TEST_F(ChainTest, AProviderMayOverwriteTheNumberAndTheName) {
    kstat_t* const ksp = create("a");
    const kid_t kid = ksp->ks_kid;
    ksp->ks_kid = kid + 100;
    kstat_set_string(ksp->ks_name, "b");
    EXPECT_TRUE(chain.remove(ksp));
    EXPECT_FALSE(chain.hold(kid, ALL_ZONES));
    kstat_t* const next = create("a");
    ASSERT_NE(next, nullptr);
    EXPECT_NE(next->ks_kid, kid);
}

// A reader drops a provider whose list has no order, or a type that is none.
TEST_F(ChainTest, AListingHasTheNumbersAndNamesThatTheChainKnows) {
    kstat_t* const a = create("a");
    kstat_t* const b = create("b");
    kstat_t* const c = create("c");
    const kid_t numbers[] = {a->ks_kid, b->ks_kid};
    for (kstat_t* const ksp : {a, b, c}) chain.install(ksp);
    c->ks_type = KSTAT_NUM_TYPES;
    std::memset(&a->ks_kid, 0x7f, sizeof a->ks_kid);
    std::memset(a->ks_name, 'x', sizeof a->ks_name);
    std::memset(a->ks_module, 'x', sizeof a->ks_module);
    a->ks_instance = 5;
    const auto all = chain.headers(0, 10);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].ks_kid, numbers[0]);
    EXPECT_EQ(all[1].ks_kid, numbers[1]);
    EXPECT_STREQ(all[0].ks_module, "mod");
    EXPECT_STREQ(all[0].ks_name, "a");
    EXPECT_EQ(all[0].ks_instance, 0);
}

int count_strings(kstat_t* ksp, int) {
    ++ksp->ks_data_size;
    return 0;
}

// The thread sanitizer looks on.
TEST_F(ChainTest, AListingMeetsNoHeaderThatItsProviderIsWriting) {
    std::atomic<bool> done{false};
    std::thread reader([&] {
        while (!done) {
            for (const kstat_t& header : chain.headers(0, 10)) EXPECT_EQ(header.ks_ndata, 1u);
        }
    });
    for (int i = 0; i < 500; ++i) {
        kstat_t* const ksp = create("a", ALL_ZONES, KSTAT_FLAG_PERSISTENT);
        ASSERT_NE(ksp, nullptr);
        ksp->ks_update = count_strings;
        chain.install(ksp);
        chain.remove(ksp);
    }
    done = true;
    reader.join();
}

using ChainDeathTest = ChainTest;

TEST_F(ChainDeathTest, UsingAKstatFromItsOwnUpdateAbortsInsteadOfHanging) {
    kstat_t* const ksp = create("a");
    const auto held = chain.hold(ksp->ks_kid, ALL_ZONES);
    EXPECT_DEATH(chain.remove(ksp), "its holder");
}

}  // namespace

}  // namespace blkscope
