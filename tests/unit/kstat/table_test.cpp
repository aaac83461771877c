#include "kstat/registry/table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace blkscope::kstat {

namespace {

int entries_alive = 0;

struct Named : Links {
    Named() { ++entries_alive; }
    ~Named() { --entries_alive; }

    kstat_t header{};
    std::string name;
    Membership membership;

    kstat_t* ksp() { return &header; }
    std::string_view key() const { return name; }
    void check_removable() const {}
    [[noreturn]] void refuse_own_wait() const { std::abort(); }
};

class KstatTable : public testing::Test {
  protected:
    kstat_t* add(const char* name, kid_t kid) {
        auto entry = std::make_unique<Named>();
        entry->name = name;
        const auto lock = table.lock();
        return table.add(std::move(entry), kid).ksp();
    }

    void forget(const kstat_t* ksp) {
        const auto used = table.use(ksp);
        ASSERT_TRUE(used);
        const auto lock = table.lock();
        EXPECT_TRUE(table.forget(used->entry()));
    }

    Named* by_name(std::string_view name) {
        const auto at = table.by_key().find(name);
        return at == table.by_key().end() ? nullptr : &*at;
    }

    void TearDown() override { EXPECT_EQ(entries_alive, alive_before + expected_alive); }

    const int alive_before = entries_alive;
    int expected_alive = 0;
    Table<Named> table;
};

TEST_F(KstatTable, FindsAKstatByAddressNumberAndName) {
    kstat_t* const ksp = add("a", 7);
    kstat_t other{};
    EXPECT_EQ(table.find(ksp)->ksp(), ksp);
    EXPECT_EQ(table.find(kid_t{7})->ksp(), ksp);
    EXPECT_EQ(by_name("a")->ksp(), ksp);
    EXPECT_EQ(table.find(&other), nullptr);
    EXPECT_EQ(table.find(kid_t{8}), nullptr);
    EXPECT_EQ(by_name("b"), nullptr);
    expected_alive = 1;
}

TEST_F(KstatTable, AKstatWithoutUserAndHoldIsFreedWhenItIsRemoved) {
    kstat_t* const ksp = add("a", 7);
    forget(ksp);
    EXPECT_EQ(entries_alive, alive_before);
    EXPECT_EQ(table.find(ksp), nullptr);
    EXPECT_EQ(table.find(kid_t{7}), nullptr);
    EXPECT_EQ(by_name("a"), nullptr);
}

TEST_F(KstatTable, AHoldKeepsTheMemoryOfARemovedKstat) {
    kstat_t* const ksp = add("a", 7);
    table.find(ksp)->membership.holds = 2;
    forget(ksp);
    EXPECT_EQ(table.find(ksp), nullptr);
    EXPECT_TRUE(table.release(ksp));
    EXPECT_EQ(entries_alive, alive_before + 1);
    EXPECT_TRUE(table.release(ksp));
    EXPECT_EQ(entries_alive, alive_before);
    EXPECT_FALSE(table.release(ksp));
}

TEST_F(KstatTable, OfTwoKstatsWithOneNameTheRightOneIsRemoved) {
    kstat_t* const first = add("a", 7);
    kstat_t* const second = add("a", 8);
    forget(second);
    EXPECT_EQ(by_name("a")->ksp(), first);
    forget(first);
    EXPECT_EQ(by_name("a"), nullptr);
}

TEST_F(KstatTable, AUserThatWaitedForARemovedKstatFindsNone) {
    kstat_t* const ksp = add("a", 7);
    std::atomic<bool> found{true};
    std::atomic<bool> waits{false};
    std::thread waiter;
    {
        const auto used = table.use(ksp);
        ASSERT_TRUE(used);
        waiter = std::thread([&] {
            waits = true;
            found = table.use(ksp).has_value();
        });
        while (!waits) std::this_thread::yield();
        const auto lock = table.lock();
        table.forget(used->entry());
    }
    waiter.join();
    EXPECT_FALSE(found);
}

TEST_F(KstatTable, OnlyTheUserEndsADetachedUse) {
    kstat_t* const ksp = add("a", 7);
    EXPECT_FALSE(table.end_use(ksp));
    EXPECT_EQ(table.use(ksp)->detach(), ksp);
    std::thread([&] { EXPECT_FALSE(table.end_use(ksp)); }).join();
    EXPECT_TRUE(table.end_use(ksp));
    EXPECT_FALSE(table.end_use(ksp));
    EXPECT_TRUE(table.use(ksp));
    expected_alive = 1;
}

TEST_F(KstatTable, AChildOfForkListsNothingAndFreesWhatItRemoves) {
    kstat_t* const ksp = add("a", 7);
    EXPECT_EQ(table.use(ksp)->detach(), ksp);  // the user is a thread that the child does not have
    table.before_fork();
    table.after_fork_in_child();
    EXPECT_TRUE(table.by_kid().empty());
    EXPECT_EQ(by_name("a"), nullptr);
    {
        const auto used = table.use(ksp);
        ASSERT_TRUE(used);
        const auto lock = table.lock();
        EXPECT_FALSE(table.forget(used->entry()));
    }
    EXPECT_EQ(entries_alive, alive_before);
}

}  // namespace

}  // namespace blkscope::kstat
