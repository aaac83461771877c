#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "fake_source.hpp"

namespace blkscope::kstat2::reader {
namespace {

class Kstat2Tree : public testing::Test {
  protected:
    Node& at(const std::string& uri) {
        Node* const node = tree.find(uri);
        if (node == nullptr) throw std::runtime_error("no map " + uri);
        return *node;
    }

    std::vector<std::string> names(const std::string& uri, uint32_t kinds = KSTAT2_NVK_ALL) {
        std::vector<std::string> names;
        for (const Entry* entry : at(uri).entries(kinds)) names.push_back(entry->name());
        return names;
    }

    using Names = std::vector<std::string>;
    FakeSource source;
    Tree tree;
};

TEST_F(Kstat2Tree, EverySegmentIsALevel) {
    source.add("/a/b/c");
    tree.open(source.listing);
    EXPECT_EQ(names("/"), Names{"a"});
    EXPECT_EQ(names("kstat:/a"), Names{"b"});
    EXPECT_EQ(at("/a/b").parent(), &at("/a"));
    EXPECT_EQ(at("/a/b/c").uri(), "kstat:/a/b/c");
    EXPECT_EQ(tree.root().uri(), "kstat:/");
    EXPECT_EQ(tree.root().parent(), nullptr);
    EXPECT_EQ(tree.find("/a/c"), nullptr);
}

TEST_F(Kstat2Tree, OpeningFetchesNothing) {
    source.add("/a/b/c", 5);
    tree.open(source.listing);
    EXPECT_EQ(at("/a/b/c").find("count"), nullptr);
    EXPECT_EQ(source.reads, 0);
    EXPECT_NE(at("/a/b/c").metadata("count"), nullptr);
}

TEST_F(Kstat2Tree, ValuesAreFetchedOnceAfterEachUpdate) {
    source.add("/a/b/c", 5);
    tree.update(source.listing);
    EXPECT_EQ(source.reads, 0);
    EXPECT_EQ(at("/a/b/c").find("count")->nv()->kstat2_integer, 5u);
    source.counts[1] = 6;
    EXPECT_EQ(at("/a/b/c").find("count")->nv()->kstat2_integer, 5u);
    EXPECT_EQ(source.reads, 1);
    tree.update(source.listing);
    EXPECT_EQ(at("/a/b/c").find("count")->nv()->kstat2_integer, 6u);
    EXPECT_EQ(source.reads, 2);
}

TEST_F(Kstat2Tree, RenewingLeavesTheTreeAndMakesTheValuesNew) {
    source.add("/a/b/c", 5);
    tree.update(source.listing);
    EXPECT_EQ(at("/a/b/c").find("count")->nv()->kstat2_integer, 5u);
    const Anchor map = at("/a/b/c").anchor();
    source.counts[1] = 6;
    tree.renew();
    EXPECT_EQ(map->load(), &at("/a/b/c"));
    EXPECT_EQ(at("/a/b/c").find("count")->nv()->kstat2_integer, 6u);
}

TEST_F(Kstat2Tree, EveryKstatHasItsTwoTimes) {
    source.add("/a/b/c");
    tree.update(source.listing);
    EXPECT_EQ(names("/a/b/c"), (Names{"count", "crtime", "snaptime"}));
    EXPECT_EQ(at("/a/b/c").find("crtime")->nv()->kstat2_integer, 7u);
    EXPECT_EQ(at("/a/b/c").find("snaptime")->nv()->kstat2_integer, 9u);
    EXPECT_EQ(at("/a/b/c").metadata("snaptime")->scale, 1'000'000'000u);
    EXPECT_EQ(names("/a/b"), Names{"c"});
}

TEST_F(Kstat2Tree, AKstatMayLieInAnother) {
    source.add("/a/b/c");
    source.add("/a/b/c/hist");
    tree.update(source.listing);
    EXPECT_EQ(names("/a/b/c"), (Names{"count", "crtime", "snaptime", "hist"}));
    EXPECT_EQ(names("/a/b/c", KSTAT2_NVK_MAP), Names{"hist"});
    EXPECT_EQ(at("/a/b/c").find("hist")->nv()->kstat2_map, &at("/a/b/c/hist"));
}

TEST_F(Kstat2Tree, WhatIsGoneGoesWithTheLevelsThatLedToIt) {
    source.add("/a/b/c");
    source.add("/a/x/y");
    tree.update(source.listing);
    source.listing.erase("kstat:/a/b/c");
    tree.update(source.listing);
    EXPECT_EQ(tree.find("/a/b"), nullptr);
    EXPECT_EQ(names("/a"), Names{"x"});
    source.listing.clear();
    tree.update(source.listing);
    EXPECT_TRUE(names("/").empty());
}

TEST_F(Kstat2Tree, ANameThatBeginsAlikeKeepsNoLevelAlive) {
    source.add("/a/b/c");
    tree.update(source.listing);
    source.listing.clear();
    source.add("/a/bb/c");
    tree.update(source.listing);
    EXPECT_EQ(names("/a"), Names{"bb"});
}

TEST_F(Kstat2Tree, AnotherKstatUnderThePathIsAnotherMap) {
    source.add("/a/b/c", 1);
    source.add("/a/b/c/d", 2);
    tree.update(source.listing);
    const Anchor old = at("/a/b/c").anchor();
    const Anchor below = at("/a/b/c/d").anchor();
    source.add("/a/b/c", 3);
    tree.update(source.listing);
    EXPECT_EQ(old->load(), nullptr);
    EXPECT_EQ(below->load(), &at("/a/b/c/d"));
    EXPECT_EQ(at("/a/b/c/d").parent(), &at("/a/b/c"));
    EXPECT_EQ(at("/a/b/c").find("count")->nv()->kstat2_integer, 3u);
    EXPECT_EQ(names("/a/b"), Names{"c"});
}

TEST_F(Kstat2Tree, AKstatThatGoesLeavesALevelForThoseBelow) {
    source.add("/a/b/c");
    source.add("/a/b/c/d");
    tree.update(source.listing);
    source.listing.erase("kstat:/a/b/c");
    tree.update(source.listing);
    EXPECT_EQ(names("/a/b/c"), Names{"d"});
    EXPECT_EQ(at("/a/b/c").kstat(), nullptr);
}

TEST_F(Kstat2Tree, ALevelThatBecomesAKstatStaysTheSameMap) {
    source.add("/a/b/c/d");
    tree.update(source.listing);
    const Anchor level = at("/a/b/c").anchor();
    source.add("/a/b/c", 4);
    tree.update(source.listing);
    EXPECT_EQ(level->load(), &at("/a/b/c"));
    EXPECT_EQ(at("/a/b/c").find("count")->nv()->kstat2_integer, 4u);
}

TEST_F(Kstat2Tree, ASilentSourceHasNoValuesAndIsNotAskedTwice) {
    source.add("/a/b/c");
    tree.update(source.listing);
    EXPECT_NE(at("/a/b/c").find("count"), nullptr);
    source.silent = true;
    tree.update(source.listing);
    EXPECT_EQ(at("/a/b/c").find("count"), nullptr);
    EXPECT_EQ(at("/a/b/c").find("snaptime"), nullptr);
    EXPECT_EQ(source.reads, 2);
}

TEST_F(Kstat2Tree, AnInvalidValueKeepsItsFlag) {
    source.add("/a/b/c");
    source.flags = KSTAT2_NVF_INVAL;
    tree.update(source.listing);
    EXPECT_EQ(at("/a/b/c").find("count")->nv()->flags, KSTAT2_NVF_INVAL);
    EXPECT_EQ(at("/a/b/c").find("crtime")->nv()->flags, KSTAT2_NVF_NONE);
}

TEST_F(Kstat2Tree, UserValuesLastAsLongAsTheMap) {
    source.add("/a/b/c");
    tree.update(source.listing);
    EXPECT_EQ(at("/a/b/c").put("mine", std::string("text")), KSTAT2_S_OK);
    EXPECT_EQ(at("/a/b/c").put("mine", uint64_t{3}), KSTAT2_S_OK);
    tree.update(source.listing);
    EXPECT_EQ(names("/a/b/c", KSTAT2_NVK_USR), Names{"mine"});
    EXPECT_EQ(at("/a/b/c").find("mine")->nv()->kstat2_integer, 3u);
    EXPECT_EQ(at("/a/b/c").remove("mine"), KSTAT2_S_OK);
    EXPECT_EQ(at("/a/b/c").remove("mine"), KSTAT2_S_NOT_FOUND);
}

TEST_F(Kstat2Tree, WhatIsNotTheUsersStays) {
    source.add("/a/b/c");
    tree.update(source.listing);
    EXPECT_EQ(at("/a/b/c").put("count", uint64_t{3}), KSTAT2_S_INVAL_TYPE);
    EXPECT_EQ(at("/a/b/c").put("snaptime", uint64_t{3}), KSTAT2_S_INVAL_TYPE);
    EXPECT_EQ(at("/a/b").put("c", uint64_t{3}), KSTAT2_S_INVAL_TYPE);
    EXPECT_EQ(at("/a/b/c").remove("count"), KSTAT2_S_INVAL_TYPE);
    EXPECT_EQ(at("/a/b").remove("c"), KSTAT2_S_INVAL_TYPE);
}

TEST_F(Kstat2Tree, VersionsTellWhatAnIteratorWouldMiss) {
    source.add("/a/b/c");
    tree.update(source.listing);
    const uint64_t level = at("/a").version(KSTAT2_NVK_ALL);
    const uint64_t values = at("/a/b/c").version(KSTAT2_NVK_SYS);
    const uint64_t others = at("/a/b/c").version(KSTAT2_NVK_USR | KSTAT2_NVK_MAP);
    tree.update(source.listing);
    EXPECT_EQ(at("/a").version(KSTAT2_NVK_ALL), level);
    EXPECT_NE(at("/a/b/c").version(KSTAT2_NVK_SYS), values);
    EXPECT_EQ(at("/a/b/c").version(KSTAT2_NVK_USR | KSTAT2_NVK_MAP), others);
    at("/a/b/c").put("mine", uint64_t{1});
    EXPECT_NE(at("/a/b/c").version(KSTAT2_NVK_USR), others);
    source.add("/a/z/z");
    tree.update(source.listing);
    EXPECT_NE(at("/a").version(KSTAT2_NVK_ALL), level);
}

// The arguments of each call of the callback, in order.
struct Calls {
    std::vector<std::string> uris;
    static void note(kstat2_map_t map, void* arg) {
        static_cast<Calls*>(arg)->uris.push_back(static_cast<Node*>(map)->uri());
    }
};

TEST_F(Kstat2Tree, RemoveCallbacksComeBeforeTheMapsGo) {
    Calls calls;
    source.add("/a/b/c");
    source.add("/a/b/d");
    tree.update(source.listing);
    for (const char* uri : {"/a", "/a/b", "/a/b/c", "/a/b/d"}) {
        at(uri).on_remove = {Calls::note, &calls};
    }
    source.listing.erase("kstat:/a/b/c");
    tree.update(source.listing);
    EXPECT_EQ(calls.uris, (Names{"kstat:/a/b/c"}));
    tree.say_farewell();
    EXPECT_EQ(calls.uris, (Names{"kstat:/a/b/c", "kstat:/a/b/d", "kstat:/a/b", "kstat:/a"}));
}

TEST_F(Kstat2Tree, TreeCallbacksAreForTheLevelsAbove) {
    Calls calls;
    source.add("/a/b/c");
    source.add("/x/y/z");
    tree.update(source.listing);
    for (const char* uri : {"/", "/a", "/a/b/c", "/x"}) at(uri).on_tree = {Calls::note, &calls};
    tree.update(source.listing);
    EXPECT_TRUE(calls.uris.empty());
    source.add("/a/b/d");
    tree.update(source.listing);
    std::ranges::sort(calls.uris);
    EXPECT_EQ(calls.uris, (Names{"kstat:/", "kstat:/a"}));
}

TEST_F(Kstat2Tree, DataCallbacksFindTheNewValues) {
    Calls calls;
    source.add("/a/b/c");
    tree.update(source.listing);
    at("/a/b/c").on_data = {Calls::note, &calls};
    at("/a").on_data = {Calls::note, &calls};
    tree.update(source.listing);
    EXPECT_EQ(calls.uris, Names{"kstat:/a/b/c"});
    EXPECT_EQ(source.reads, 1);
    source.silent = true;
    tree.update(source.listing);
    EXPECT_EQ(calls.uris.size(), 1u) << "there was nothing new to be told of";
}

}  // namespace
}  // namespace blkscope::kstat2::reader
