// The protocol of kstat2: there and back, and nothing that no peer of ours sends.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "kstat/wire/kstat2.hpp"

namespace blkscope::kstat2::wire {

namespace {

using kstat::wire::bytes_of;
using Buffer = std::vector<std::byte>;

Map a_map(kid_t kid) {
    Map map;
    map.kid = kid;
    map.crtime = 123;
    map.path = "/misc/my_drv/" + std::to_string(kid);
    map.desc = "a description";
    map.metatype = KSTAT2_MT_HIST;
    map.metaflags = KSTAT2_MF_STABLE | KSTAT2_MF_PRIV;
    map.flags = KSTAT2_MAPF_DORM;
    map.fields = {{"a", KSTAT2_NVVT_INT, {KSTAT2_NVMT_T_ACC, KSTAT2_NVMF_FRACT, 1000, 4, "x"}},
                  {"b", KSTAT2_NVVT_STRS, {}}};
    return map;
}

Values some_values() {
    Values values;
    values.kid = 5;
    values.snaptime = 77;
    values.flags = KSTAT2_MAPF_DORM;
    values.error = 5;
    values.values = {{KSTAT2_NVF_INVAL, uint64_t{9}},
                     {0, std::vector<uint64_t>{1, 2, 3}},
                     {0, std::vector<uint64_t>{}},
                     {0, std::string("text")},
                     {0, std::string()},
                     {0, std::vector<std::string>{"one", "", "three"}}};
    return values;
}

const std::vector<Optional> some_optionals{{1, "blk:hist", "histograms", false, true},
                                           {7, "a:b", "", true, false}};

TEST(Kstat2Message, APageComesBackAsItWas) {
    const std::vector<Map> maps{a_map(3), a_map(9)};
    const auto page = decode_page(encode_page(42, maps, true), 2);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->generation, 42U);
    EXPECT_TRUE(page->more);
    EXPECT_EQ(page->maps, maps);
    EXPECT_EQ(encode_page(42, maps, true).size(),
              sizeof(Page) + encoded_size(maps[0]) + encoded_size(maps[1]));
    EXPECT_TRUE(decode_page(encode_page(1, {}, false), 0));
}

TEST(Kstat2Message, ValuesComeBackAsTheyWere) {
    const auto encoded = encode_values(some_values());
    ASSERT_TRUE(encoded);
    EXPECT_EQ(decode_values(*encoded), some_values());
}

TEST(Kstat2Message, OptionalsAndTheGenerationComeBackAsTheyWere) {
    EXPECT_EQ(decode_optionals(encode_optionals(some_optionals)), some_optionals);
    EXPECT_EQ(decode_generation(encode_generation(UINT64_MAX)), UINT64_MAX);
}

TEST(Kstat2Message, ASwitchIsOffOnOrByDefault) {
    for (const uint32_t wanted : {0U, 1U, 2U}) {
        const SetOptional request{3, wanted};
        const auto decoded = decode_set_optional(bytes_of(request));
        ASSERT_TRUE(decoded);
        EXPECT_EQ(decoded->id, 3);
        EXPECT_EQ(decoded->wanted, wanted);
    }
    const SetOptional request{3, 3};
    EXPECT_FALSE(decode_set_optional(bytes_of(request)));
    EXPECT_FALSE(decode_set_optional(bytes_of(request).first(7)));
}

TEST(Kstat2Message, NothingShorterOrLongerIsAccepted) {
    const std::pair<Buffer, std::function<bool(Bytes)>> table[] = {
        {encode_page(1, {a_map(1)}, false), [](Bytes b) { return decode_page(b, 0).has_value(); }},
        {*encode_values(some_values()), [](Bytes b) { return decode_values(b).has_value(); }},
        {encode_optionals(some_optionals), [](Bytes b) { return decode_optionals(b).has_value(); }},
        {encode_generation(1), [](Bytes b) { return decode_generation(b).has_value(); }}};
    for (const auto& [whole, is_accepted] : table) {
        EXPECT_TRUE(is_accepted(whole));
        for (size_t size = 0; size < whole.size(); ++size) {
            EXPECT_FALSE(is_accepted(Bytes(whole).first(size))) << size;
        }
        Buffer longer = whole;
        longer.push_back(std::byte{0});
        EXPECT_FALSE(is_accepted(longer));
    }
}

// One map, spoilt in one place.
bool is_map_accepted(const std::function<void(Map&)>& spoil) {
    Map map = a_map(1);
    spoil(map);
    return decode_page(encode_page(1, {map}, false), 0).has_value();
}

TEST(Kstat2Message, MapsThatNoProviderMakesAreRefused) {
    EXPECT_TRUE(is_map_accepted([](Map&) {}));
    EXPECT_FALSE(is_map_accepted([](Map& map) { map.kid = 0; }));
    for (const char* path : {"", "/", "a/b/c", "/a//b", "/a/b/"}) {
        EXPECT_FALSE(is_map_accepted([path](Map& map) { map.path = path; })) << path;
    }
    EXPECT_FALSE(is_map_accepted([](Map& map) { map.path = std::string("/a\0b", 4); }));
    EXPECT_FALSE(is_map_accepted([](Map& map) { map.path = "/" + std::string(255, 'x'); }));
    EXPECT_FALSE(is_map_accepted([](Map& map) { map.desc = std::string("a\0b", 3); }));
    EXPECT_FALSE(is_map_accepted([](Map& map) { map.fields[0].name = ""; }));
    EXPECT_FALSE(is_map_accepted([](Map& map) { map.fields[0].type = KSTAT2_NVVT_MAP; }));
    EXPECT_FALSE(is_map_accepted([](Map& map) { map.fields[0].type = 5; }));
    EXPECT_FALSE(is_map_accepted([](Map& map) { map.fields[0].md.scale = 0; }));
    EXPECT_FALSE(is_map_accepted([](Map& map) { map.fields.resize(fields_max + 1); }));
}

TEST(Kstat2Message, PagesAreInTheOrderOfTheirKidsAndAnEmptyOneIsTheLast) {
    EXPECT_FALSE(decode_page(encode_page(1, {a_map(2), a_map(2)}, false), 0));
    EXPECT_FALSE(decode_page(encode_page(1, {a_map(2)}, false), 2));
    EXPECT_FALSE(decode_page(encode_page(1, {}, true), 0));
}

TEST(Kstat2Message, ValuesBeyondTheLimitsAreNotEncoded) {
    Values values;
    values.values = {{0, std::vector<std::string>(strings_max + 1)}};
    EXPECT_FALSE(encode_values(values));
    values.values = {{0, std::string(values_size_max, 'x')}};
    EXPECT_FALSE(encode_values(values));
}

TEST(Kstat2Message, CountsThatAreNotBackedByBytesAllocateNothing) {
    for (const uint8_t type : {KSTAT2_NVVT_INTS, KSTAT2_NVVT_STR, KSTAT2_NVVT_STRS}) {
        Buffer bytes;
        const auto append = [&bytes](Bytes head) {
            bytes.insert(bytes.end(), head.begin(), head.end());
        };
        const ValuesHead head{0, 1, 0, 0, 1};
        const ValueHead value{UINT32_MAX, 0, type, 0};
        append(bytes_of(head));
        append(bytes_of(value));
        EXPECT_FALSE(decode_values(bytes));
    }
}

TEST(Kstat2Message, AnyBytesAreDecodedOrRefused) {
    std::mt19937 random(20260721);
    const Buffer seeds[] = {encode_page(1, {a_map(1), a_map(2)}, true),
                            *encode_values(some_values()), encode_optionals(some_optionals)};
    for (int round = 0; round < 20'000; ++round) {
        Buffer bytes = seeds[random() % std::size(seeds)];
        for (unsigned i = 0; i < 1 + random() % 4; ++i) {
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        }
        bytes.resize(bytes.size() - random() % 3);
        if (const auto page = decode_page(bytes, 0)) {
            EXPECT_EQ(decode_page(encode_page(page->generation, page->maps, page->more), 0)->maps,
                      page->maps);
        }
        if (const auto values = decode_values(bytes)) {
            EXPECT_EQ(decode_values(*encode_values(*values)), values);
        }
        (void)decode_optionals(bytes);
    }
}

}  // namespace

}  // namespace blkscope::kstat2::wire
