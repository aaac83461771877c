// Lists that change during a walk.
#include "driver/nbd/transmission/turn_list.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <vector>

namespace blkscope::nbd {
namespace {

struct One;
struct Other;

struct Item : TurnEntry<One>, TurnEntry<Other> {
    explicit Item(int its_number) : number(its_number) {}
    int number;
};

using List = TurnList<Item, One>;
using OtherList = TurnList<Item, Other>;

std::vector<int> drained(List& list) {
    std::vector<int> numbers;
    list.drain([&](Item& item) { numbers.push_back(item.number); });
    return numbers;
}

TEST(TurnList, KeepsTheOrderAndAddsAnItemOnce) {
    Item a(1);
    Item b(2);
    List list;
    list.add(b);
    list.add(a);
    list.add(b);
    EXPECT_TRUE(list.has(a));
    EXPECT_EQ(drained(list), (std::vector{2, 1}));
    EXPECT_TRUE(list.empty());
    EXPECT_FALSE(list.has(a));
}

TEST(TurnList, AnItemIsInOneListOfEachTag) {
    Item a(1);
    List list;
    OtherList other;
    list.add(a);
    other.add(a);
    static_cast<TurnEntry<One>&>(a).unlist();
    EXPECT_TRUE(list.empty());
    EXPECT_FALSE(other.empty());
    static_cast<TurnEntry<Other>&>(a).unlist();
}

TEST(TurnList, WhatIsAddedDuringADrainWaitsForTheNextOne) {
    Item a(1);
    Item b(2);
    Item late(3);
    List list;
    list.add(a);
    list.add(b);
    std::vector<int> numbers;
    list.drain([&](Item& item) {
        numbers.push_back(item.number);
        list.add(item);  // also the visited item
        list.add(late);
    });
    EXPECT_EQ(numbers, (std::vector{1, 2}));
    EXPECT_EQ(drained(list), (std::vector{1, 3, 2}));
}

TEST(TurnList, AnItemMayBeDestroyedByAnyOtherDuringAWalk) {
    for (int victim = 0; victim < 4; ++victim) {
        std::vector<std::unique_ptr<Item>> items;
        List list;
        for (int i = 0; i < 4; ++i) {
            items.push_back(std::make_unique<Item>(i));
            list.add(*items.back());
        }
        std::vector<int> numbers;
        list.for_each([&](Item& item) {
            numbers.push_back(item.number);
            if (numbers.size() == 2) items[static_cast<size_t>(victim)].reset();
        });
        EXPECT_EQ(numbers.size(), victim < 2 ? 4u : 3u) << victim;
        numbers.clear();
        list.drain([&](Item& item) {
            if (numbers.empty()) items[3].reset();
            numbers.push_back(item.number);
        });
        EXPECT_TRUE(list.empty());
    }
}

TEST(TurnList, WalksMayBeNested) {
    std::vector<std::unique_ptr<Item>> items;
    List list;
    for (int i = 0; i < 5; ++i) list.add(*items.emplace_back(std::make_unique<Item>(i)));
    int seen = 0;
    list.for_each([&](Item&) {
        list.for_each([&](Item&) { ++seen; });
        EXPECT_TRUE(list.any_of([](const Item& item) { return item.number == 4; }));
    });
    EXPECT_EQ(seen, 25);
    int outer = 0;
    list.drain([&](Item&) {
        ++outer;
        drained(list);
    });
    EXPECT_EQ(outer, 1);
}

// Compared with a model: each object listed at the beginning and not removed is seen once.
TEST(TurnList, RandomChangesDuringAWalkLoseNobody) {
    std::mt19937 random(20261122);
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::unique_ptr<Item>> items;
        List list;
        std::multiset<int> expected;
        for (int i = 0; i < 8; ++i) {
            items.push_back(std::make_unique<Item>(i));
            if (random() % 2 == 0) continue;
            list.add(*items.back());
            expected.insert(i);
        }
        std::multiset<int> seen;
        list.drain([&](Item& item) {
            seen.insert(item.number);
            const auto other = static_cast<int>(random() % items.size());
            auto& victim = items[static_cast<size_t>(other)];
            if (victim == nullptr || victim.get() == &item) return;
            if (random() % 3 == 0) return list.add(*victim);
            if (seen.count(other) == 0) expected.erase(other);
            if (random() % 2 == 0) return victim.reset();
            static_cast<TurnEntry<One>&>(*victim).unlist();
        });
        // An item that was removed and added again is left for the next walk.
        for (const int number : expected) ASSERT_EQ(seen.count(number), 1u) << round;
        drained(list);
    }
}

}  // namespace
}  // namespace blkscope::nbd
