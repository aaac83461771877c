// The C interface of libkstat2: statuses, iterators, user values, callbacks, threads.
#include <atomic>
#include <cstdio>
#include <set>
#include <thread>

#include "kstat2_processes.hpp"

namespace blkscope {

namespace {

using Names = std::vector<std::string>;

class Kstat2Api : public Kstat2Processes {
  protected:
    // A provider of /misc/one/a (count 1) and /misc/one/a/b (count 2), and the handle on it.
    Kstat2Api() : provider(publish_two) {
        if (provider.line().hear() == 'r') open2();
        a = map("/misc/one/a");
    }

    static void publish_two(const Line& line) {
        publish_count({"misc", "one", "a"}, 1);
        publish_count({"misc", "one", "a", "b"}, 2);
        take_turns(line);
    }

    ChildProcess provider;
    kstat2_map_t a = nullptr;
};

TEST_F(Kstat2Api, TakesNoNullAndTouchesNothing) {
    auto* const untouched = reinterpret_cast<void*>(0x10);
    auto found = static_cast<kstat2_map_t>(untouched);
    auto value = static_cast<kstat2_nv_t>(untouched);
    uint32_t number = 77;
    constexpr auto wrong = KSTAT2_S_INVAL_ARG;
    EXPECT_EQ(kstat2_open(nullptr, nullptr), wrong);
    EXPECT_EQ(kstat2_update(nullptr), wrong);
    EXPECT_EQ(kstat2_close(nullptr), wrong);
    EXPECT_EQ(kstat2_alloc_matcher_list(nullptr), wrong);
    EXPECT_EQ(kstat2_add_matcher(KSTAT2_M_STRING, "a", nullptr), wrong);
    EXPECT_EQ(kstat2_free_matcher_list(nullptr), wrong);
    EXPECT_EQ(kstat2_map_get(a, nullptr, &value), wrong);
    EXPECT_EQ(kstat2_map_get(nullptr, "count", &value), wrong);
    EXPECT_EQ(kstat2_map_get(a, "count", nullptr), wrong);
    EXPECT_EQ(kstat2_map_flags(nullptr, &number), wrong);
    EXPECT_EQ(kstat2_map_flags(a, nullptr), wrong);
    EXPECT_EQ(kstat2_map_size(a, 0, &number), wrong);
    EXPECT_EQ(kstat2_map_size(a, 8, &number), wrong);
    EXPECT_EQ(kstat2_map_uri(a, nullptr), wrong);
    EXPECT_EQ(kstat2_map_parent(a, nullptr), wrong);
    EXPECT_EQ(kstat2_map_to_array(a, nullptr, &number, &number), wrong);
    EXPECT_EQ(kstat2_map_meta(a, nullptr), wrong);
    EXPECT_EQ(kstat2_nv_meta(a, nullptr, nullptr), wrong);
    EXPECT_EQ(kstat2_map_put_integer(nullptr, "x", 1), wrong);
    EXPECT_EQ(kstat2_map_put_integer(a, "", 1), wrong);
    EXPECT_EQ(kstat2_map_put_integers(a, "x", nullptr, 1), wrong);
    EXPECT_EQ(kstat2_map_put_string(a, "x", nullptr), wrong);
    EXPECT_EQ(kstat2_map_put_strings(a, "x", nullptr, 1), wrong);
    EXPECT_EQ(kstat2_map_remove(a, nullptr), wrong);
    EXPECT_EQ(kstat2_map_get_userdata(a, nullptr), wrong);
    EXPECT_EQ(kstat2_map_set_tree_cb(nullptr, nullptr, nullptr), wrong);
    EXPECT_EQ(kstat2_mapiter_start(a, KSTAT2_NVK_ALL, nullptr), wrong);
    EXPECT_EQ(kstat2_mapiter_next(nullptr, &value), wrong);
    EXPECT_EQ(kstat2_mapref_alloc(nullptr, nullptr), wrong);
    EXPECT_EQ(kstat2_optional_list(handle, nullptr, &number), wrong);
    EXPECT_EQ(kstat2_optional_set_state(handle, "x", static_cast<kstat2_optional_state_t>(3)),
              wrong);
    EXPECT_EQ(value, untouched);
    EXPECT_EQ(number, 77u);
    EXPECT_EQ(kstat2_map_get(a, "missing", &value), KSTAT2_S_NOT_FOUND);
    EXPECT_EQ(value, untouched);
    EXPECT_EQ(kstat2_lookup_map(handle, "/missing", &found), KSTAT2_S_NOT_FOUND);
    EXPECT_EQ(found, nullptr) << "one of the two that say so";
    found = static_cast<kstat2_map_t>(untouched);
    EXPECT_EQ(kstat2_mapref_deref(nullptr, &found), wrong);
    EXPECT_EQ(found, nullptr) << "the other";
}

TEST_F(Kstat2Api, DescribesMapsAndValues) {
    kstat2_map_meta_t map_meta{};
    ASSERT_EQ(kstat2_map_meta(a, &map_meta), KSTAT2_S_OK);
    EXPECT_EQ(map_meta.type, KSTAT2_MT_NONE);
    EXPECT_STREQ(map_meta.desc, "a count");
    kstat2_nv_meta_t meta{};
    ASSERT_EQ(kstat2_nv_meta(a, "count", &meta), KSTAT2_S_OK);
    EXPECT_EQ(meta.type, KSTAT2_NVMT_CNT);
    EXPECT_EQ(meta.scale, 1u);
    EXPECT_STREQ(meta.desc, "how many");
    ASSERT_EQ(kstat2_nv_meta(a, "snaptime", &meta), KSTAT2_S_OK);
    EXPECT_EQ(meta.type, KSTAT2_NVMT_T_REL);
    EXPECT_EQ(meta.flags, KSTAT2_NVMF_FRACT);
    EXPECT_EQ(meta.scale, 1'000'000'000u);
    EXPECT_EQ(kstat2_nv_meta(a, "b", &meta), KSTAT2_S_INVAL_TYPE);
    EXPECT_EQ(kstat2_nv_meta(a, "missing", &meta), KSTAT2_S_NOT_FOUND);
    ASSERT_EQ(kstat2_map_meta(map("/misc"), &map_meta), KSTAT2_S_OK);
    EXPECT_STREQ(map_meta.desc, "");
}

TEST_F(Kstat2Api, LeadsUpToTheRoot) {
    const char* uri = nullptr;
    kstat2_map_t parent = nullptr;
    ASSERT_EQ(kstat2_map_uri(a, &uri), KSTAT2_S_OK);
    EXPECT_STREQ(uri, "kstat:/misc/one/a");
    ASSERT_EQ(kstat2_map_parent(a, &parent), KSTAT2_S_OK);
    EXPECT_EQ(parent, map("/misc/one"));
    EXPECT_EQ(kstat2_map_parent(map("/"), &parent), KSTAT2_S_NOT_FOUND);
    EXPECT_EQ(parent, map("/misc/one"));
}

TEST_F(Kstat2Api, FillsAnArrayThatIsLargeEnough) {
    kstat2_nv_t entries[8] = {};
    uint32_t size = 3;
    uint32_t stored = 77;
    EXPECT_EQ(kstat2_map_to_array(a, entries, &size, &stored), KSTAT2_S_NO_SPACE);
    EXPECT_EQ(size, 3u);
    EXPECT_EQ(stored, 77u);
    EXPECT_EQ(entries[0], nullptr);
    size = 8;
    ASSERT_EQ(kstat2_map_to_array(a, entries, &size, &stored), KSTAT2_S_OK);
    EXPECT_EQ(stored, 4u);
    EXPECT_EQ(size, 4u);
    EXPECT_STREQ(entries[0]->name, "count");
    EXPECT_EQ(entries[3]->kind, KSTAT2_NVK_MAP);
    EXPECT_EQ(entries[3]->kstat2_map, map("/misc/one/a/b"));
    uint32_t maps = 0;
    EXPECT_EQ(kstat2_map_size(a, KSTAT2_NVK_MAP, &maps), KSTAT2_S_OK);
    EXPECT_EQ(maps, 1u);
}

TEST_F(Kstat2Api, KeepsUserValuesOfEveryType) {
    const uint64_t integers[] = {1, 2, 3};
    const char* const strings[] = {"x", "yy"};
    EXPECT_EQ(kstat2_map_put_integer(a, "int", 5), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_map_put_integers(a, "ints", integers, 3), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_map_put_string(a, "str", "text"), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_map_put_strings(a, "strs", strings, 2), KSTAT2_S_OK);
    update();
    EXPECT_EQ(names("/misc/one/a", KSTAT2_NVK_USR), (Names{"int", "ints", "str", "strs"}));
    EXPECT_EQ(nv("/misc/one/a", "int")->kind, KSTAT2_NVK_USR);
    EXPECT_EQ(nv("/misc/one/a", "ints")->kstat2_integers.array[2], 3u);
    EXPECT_STREQ(nv("/misc/one/a", "str")->kstat2_string, "text");
    EXPECT_STREQ(nv("/misc/one/a", "strs")->kstat2_strings.array[1], "yy");
    EXPECT_EQ(nv("/misc/one/a", "strs")->kstat2_strings.length, 2u);
    EXPECT_EQ(kstat2_map_put_integer(a, "count", 5), KSTAT2_S_INVAL_TYPE);
    EXPECT_EQ(kstat2_map_remove(a, "count"), KSTAT2_S_INVAL_TYPE);
    EXPECT_EQ(kstat2_map_remove(a, "int"), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_map_remove(a, "int"), KSTAT2_S_NOT_FOUND);
}

TEST_F(Kstat2Api, TellsAnIteratorThatItsMapChanged) {
    kstat2_mapiter_t values = nullptr;
    kstat2_mapiter_t maps = nullptr;
    kstat2_nv_t found = nullptr;
    bool more = false;
    ASSERT_EQ(kstat2_mapiter_start(a, KSTAT2_NVK_SYS, &values), KSTAT2_S_OK);
    ASSERT_EQ(kstat2_mapiter_start(a, KSTAT2_NVK_MAP, &maps), KSTAT2_S_OK);
    ASSERT_EQ(kstat2_mapiter_next(values, &found), KSTAT2_S_OK);
    update();
    EXPECT_EQ(kstat2_mapiter_next(values, &found), KSTAT2_S_CONC_MOD);
    EXPECT_EQ(kstat2_mapiter_hasnext(values, &more), KSTAT2_S_CONC_MOD);
    EXPECT_EQ(kstat2_mapiter_hasnext(maps, &more), KSTAT2_S_OK) << "no map came or went";
    EXPECT_TRUE(more);
    ASSERT_EQ(kstat2_map_put_integer(a, "mine", 1), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_mapiter_next(maps, &found), KSTAT2_S_CONC_MOD);
    EXPECT_EQ(kstat2_mapiter_end(&values), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_mapiter_end(&maps), KSTAT2_S_OK);
    EXPECT_EQ(maps, nullptr);
}

TEST_F(Kstat2Api, RemovesThroughTheIterator) {
    kstat2_map_put_integer(a, "one", 1);
    kstat2_map_put_integer(a, "two", 2);
    kstat2_mapiter_t iter = nullptr;
    kstat2_nv_t found = nullptr;
    bool more = true;
    ASSERT_EQ(kstat2_mapiter_start(a, KSTAT2_NVK_USR, &iter), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_mapiter_remove(iter), KSTAT2_S_INVAL_STATE);
    ASSERT_EQ(kstat2_mapiter_next(iter, &found), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_mapiter_remove(iter), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_mapiter_remove(iter), KSTAT2_S_INVAL_STATE);
    ASSERT_EQ(kstat2_mapiter_next(iter, &found), KSTAT2_S_OK);
    EXPECT_STREQ(found->name, "two");
    ASSERT_EQ(kstat2_mapiter_hasnext(iter, &more), KSTAT2_S_OK);
    EXPECT_FALSE(more);
    EXPECT_EQ(kstat2_mapiter_next(iter, &found), KSTAT2_S_NOT_FOUND);
    kstat2_mapiter_end(&iter);
    ASSERT_EQ(kstat2_mapiter_start(a, KSTAT2_NVK_SYS, &iter), KSTAT2_S_OK);
    ASSERT_EQ(kstat2_mapiter_next(iter, &found), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_mapiter_remove(iter), KSTAT2_S_INVAL_TYPE);
    kstat2_mapiter_end(&iter);
    EXPECT_EQ(names("/misc/one/a", KSTAT2_NVK_USR), Names{"two"});
}

TEST_F(Kstat2Api, EndsAnIteratorWhoseMapIsGone) {
    kstat2_mapiter_t iter = nullptr;
    kstat2_nv_t found = nullptr;
    ASSERT_EQ(kstat2_mapiter_start(a, KSTAT2_NVK_ALL, &iter), KSTAT2_S_OK);
    provider.kill();
    update();
    EXPECT_EQ(kstat2_mapiter_next(iter, &found), KSTAT2_S_CONC_MOD);
    EXPECT_EQ(kstat2_mapiter_end(&iter), KSTAT2_S_OK);
}

TEST_F(Kstat2Api, KeepsUserdata) {
    int mine = 0;
    void* got = &got;
    EXPECT_EQ(kstat2_map_get_userdata(a, &got), KSTAT2_S_INVAL_ARG);
    EXPECT_EQ(got, &got);
    EXPECT_EQ(kstat2_map_set_userdata(a, &mine), KSTAT2_S_OK);
    update();
    EXPECT_EQ(kstat2_map_get_userdata(a, &got), KSTAT2_S_OK);
    EXPECT_EQ(got, &mine);
}

TEST_F(Kstat2Api, CallsBackWithTheNewValueAndRefusesToUpdateThere) {
    struct Seen {
        kstat2_handle_t handle;
        uint64_t count = 0;
        kstat2_status_t update = KSTAT2_S_OK;
        kstat2_status_t close = KSTAT2_S_OK;
        int removed = 0;
    } seen{handle};
    kstat2_map_set_data_cb(
        a,
        [](kstat2_map_t map, void* arg) {
            auto& noted = *static_cast<Seen*>(arg);
            kstat2_nv_t found = nullptr;
            if (kstat2_map_get(map, "count", &found) == KSTAT2_S_OK) {
                noted.count = found->kstat2_integer;
            }
            noted.update = kstat2_update(noted.handle);
            noted.close = kstat2_close(&noted.handle);
        },
        &seen);
    kstat2_map_set_remove_cb(
        a, [](kstat2_map_t, void* arg) { ++static_cast<Seen*>(arg)->removed; }, &seen);
    update();
    EXPECT_EQ(seen.count, 1u);
    EXPECT_EQ(seen.update, KSTAT2_S_INVAL_STATE);
    EXPECT_EQ(seen.close, KSTAT2_S_INVAL_STATE);
    EXPECT_NE(seen.handle, nullptr);
    EXPECT_EQ(seen.removed, 0);
    EXPECT_EQ(kstat2_close(&handle), KSTAT2_S_OK);
    EXPECT_EQ(seen.removed, 1);
    EXPECT_EQ(handle, nullptr);
}

TEST_F(Kstat2Api, ServesSeveralThreads) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            const std::string mine = "mine" + std::to_string(i);
            for (int round = 0; round < 200; ++round) {
                kstat2_nv_t found = nullptr;
                if (kstat2_map_get(a, "count", &found) != KSTAT2_S_OK) ++wrong;
                if (kstat2_map_put_integer(a, mine.c_str(), 1) != KSTAT2_S_OK) ++wrong;
                if (kstat2_map_remove(a, mine.c_str()) != KSTAT2_S_OK) ++wrong;
                kstat2_map_t map = nullptr;
                if (kstat2_lookup_map(handle, "/misc/one/a/b", &map) != KSTAT2_S_OK) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST(Kstat2Strings, AreThereForEveryNumber) {
    std::set<std::string> texts;
    for (int status = 0; status <= 10; ++status) {
        texts.insert(kstat2_status_string(static_cast<kstat2_status_t>(status)));
    }
    EXPECT_EQ(texts.size(), 11u);
    EXPECT_STREQ(kstat2_status_string(static_cast<kstat2_status_t>(11)), "unknown status");
    const char* text = nullptr;
    EXPECT_EQ(kstat2_map_metatype_string(KSTAT2_MT_HIST, &text), KSTAT2_S_OK);
    EXPECT_STREQ(text, "hist");
    EXPECT_EQ(kstat2_nv_metatype_string(KSTAT2_NVMT_JOULE, &text), KSTAT2_S_OK);
    EXPECT_STREQ(text, "joule");
    EXPECT_EQ(kstat2_nv_metatype_string(19, &text), KSTAT2_S_INVAL_ARG);
    EXPECT_STREQ(text, "joule");
}

TEST(Kstat2Exports, AreExactlyTheFunctionsOfTheHeader) {
    FILE* const nm = popen(NM " -D --defined-only " LIBKSTAT2, "r");
    ASSERT_NE(nm, nullptr);
    std::set<std::string> exported;
    char kind = 0;
    char name[256];
    while (std::fscanf(nm, "%*s %c %255s", &kind, name) == 2) {
        const std::string versioned = name;
        if (kind != 'A') exported.insert(versioned.substr(0, versioned.find('@')));
    }
    pclose(nm);
    FILE* const header = popen(
        "sed -nE '/^#/d; s/^[a-z].*\\b(kstat2_[a-z0-9_]+)\\(.*/\\1/p' " KSTAT2_HEADER " | sort -u",
        "r");
    ASSERT_NE(header, nullptr);
    std::set<std::string> declared;
    while (std::fscanf(header, "%255s", name) == 1) declared.insert(name);
    pclose(header);
    EXPECT_EQ(exported, declared);
    EXPECT_EQ(exported.size(), 39u);
}

}  // namespace

}  // namespace blkscope
