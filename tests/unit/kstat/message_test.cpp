#include "kstat/wire/message.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace wire = blkscope::kstat::wire;

namespace blkscope {

namespace {

kstat_t header(kid_t kid, uchar_t type) {
    kstat_t ks{};
    ks.ks_kid = kid;
    ks.ks_type = type;
    ks.ks_instance = -3;
    ks.ks_crtime = 11;
    ks.ks_snaptime = 12;
    ks.ks_ndata = 2;
    ks.ks_data_size = 96;
    ks.ks_flags = KSTAT_FLAG_WRITABLE;
    std::strcpy(ks.ks_module, "mod");
    std::strcpy(ks.ks_name, "name");
    std::strcpy(ks.ks_class, "misc");
    return ks;
}

TEST(WireMessage, AHeadSaysHowMuchFollows) {
    const std::string body = "body";
    const std::string data = "data!";
    const auto bytes = wire::encode_request(wire::Op::read, 7, wire::bytes_of(uint32_t{1}),
                                            std::as_bytes(std::span(data)));
    wire::Bytes rest(bytes);
    const auto head = wire::take<wire::RequestHead>(rest);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->length, 9u);
    EXPECT_EQ(rest.size(), 9u);
    EXPECT_EQ(head->sequence, 7u);
    EXPECT_EQ(head->op, static_cast<uint16_t>(wire::Op::read));
}

TEST(WireMessage, APageOfHeadersComesBackAsItWent) {
    const auto bytes = wire::encode_page({header(5, 1), header(9, 3)}, false);
    const auto page = wire::decode_page(bytes, 4);
    ASSERT_TRUE(page);
    EXPECT_FALSE(page->more);
    ASSERT_EQ(page->headers.size(), 2u);
    const kstat_t& first = page->headers[0];
    EXPECT_EQ(first.ks_kid, 5);
    EXPECT_EQ(first.ks_instance, -3);
    EXPECT_EQ(first.ks_crtime, 11);
    EXPECT_EQ(first.ks_snaptime, 12);
    EXPECT_EQ(first.ks_ndata, 2u);
    EXPECT_EQ(first.ks_data_size, 96u);
    EXPECT_EQ(first.ks_flags, KSTAT_FLAG_WRITABLE);
    EXPECT_STREQ(first.ks_module, "mod");
    EXPECT_STREQ(first.ks_name, "name");
    EXPECT_STREQ(first.ks_class, "misc");
    EXPECT_EQ(page->headers[1].ks_type, 3);
}

TEST(WireMessage, APageMustAscendFromWhereItWasAskedFor) {
    EXPECT_FALSE(wire::decode_page(wire::encode_page({header(5, 1)}, false), 5));
    EXPECT_FALSE(wire::decode_page(wire::encode_page({header(5, 1), header(5, 1)}, false), 0));
    EXPECT_FALSE(wire::decode_page(wire::encode_page({header(5, KSTAT_NUM_TYPES)}, false), 0));
}

// Otherwise a list of one header a page would not end for hours.
TEST(WireMessage, APageBeforeAnotherOneIsFull) {
    EXPECT_FALSE(wire::decode_page(wire::encode_page({}, true), 0));
    std::vector<kstat_t> headers;
    while (headers.size() < wire::headers_per_page - 1) {
        headers.push_back(header(static_cast<kid_t>(headers.size() + 1), 1));
    }
    EXPECT_FALSE(wire::decode_page(wire::encode_page(headers, true), 0));
    headers.push_back(header(wire::headers_per_page, 1));
    const auto page = wire::decode_page(wire::encode_page(headers, true), 0);
    ASSERT_TRUE(page);
    EXPECT_TRUE(page->more);
    EXPECT_EQ(page->headers.size(), wire::headers_per_page);
}

TEST(WireMessage, ATruncatedPageIsNone) {
    const auto bytes = wire::encode_page({header(5, 1), header(9, 3)}, false);
    for (size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(wire::decode_page(wire::Bytes(bytes).first(size), 0)) << size;
    }
}

TEST(WireMessage, RandomBytesNeverMakeAnUnfinishedString) {
    std::mt19937 random(20261121);
    for (int round = 0; round < 2'000; ++round) {
        auto bytes = wire::encode_page({header(5, 1), header(9, 3)}, false);
        for (int i = 0; i < 40; ++i) bytes[random() % bytes.size()] = std::byte(random() & 0xff);
        const auto page = wire::decode_page(bytes, 0);
        if (!page) continue;
        for (const kstat_t& ks : page->headers) {
            EXPECT_LT(strnlen(ks.ks_module, KSTAT_STRLEN), size_t{KSTAT_STRLEN});
            EXPECT_LT(strnlen(ks.ks_name, KSTAT_STRLEN), size_t{KSTAT_STRLEN});
            EXPECT_LT(strnlen(ks.ks_class, KSTAT_STRLEN), size_t{KSTAT_STRLEN});
        }
    }
}

TEST(WireMessage, DataMustHaveTheFormOfItsType) {
    wire::DataHead head{};
    head.type = KSTAT_TYPE_IO;
    head.ndata = 1;
    head.data_size = 80;
    EXPECT_TRUE(wire::is_well_formed(head, 80));
    EXPECT_FALSE(wire::is_well_formed(head, 79));
    head.ndata = 2;
    EXPECT_FALSE(wire::is_well_formed(head, 80));
    head.type = KSTAT_TYPE_NAMED;
    EXPECT_FALSE(wire::is_well_formed(head, 80));
    head.ndata = 0xffffffff;  // times 48 overflows 32 bits
    EXPECT_FALSE(wire::is_well_formed(head, 80));
    head.type = KSTAT_NUM_TYPES;
    EXPECT_FALSE(wire::is_well_formed(head, 80));
}

// Two records, "one" and a null, and an area of 8 bytes.
struct NamedData {
    NamedData() {
        records[0].data_type = records[1].data_type = KSTAT_DATA_STRING;
        std::strcpy(area, "one");
        point(0, area, 4);
    }
    void point(int record, char* to, uint32_t length) {
        KSTAT_NAMED_STR_PTR(&records[record]) = to;
        KSTAT_NAMED_STR_BUFLEN(&records[record]) = length;
    }
    std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(this, 1)); }

    kstat_named_t records[2]{};
    char area[8]{};
};

TEST(WireStrings, TravelAsOffsetsAndArriveAsPointers) {
    NamedData data;
    wire::pointers_to_offsets(data.bytes(), 2);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(KSTAT_NAMED_STR_PTR(&data.records[0])), 96u);
    NamedData arrived = data;
    ASSERT_TRUE(wire::offsets_to_pointers(arrived.bytes(), 2));
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&arrived.records[0]), arrived.area);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&arrived.records[1]), nullptr);
}

TEST(WireStrings, APointerToElsewhereIsNotSent) {
    NamedData data;
    char elsewhere[] = "secret";
    data.point(0, elsewhere, 7);
    data.point(1, data.area, 9);  // one byte beyond the end
    wire::pointers_to_offsets(data.bytes(), 2);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&data.records[0]), nullptr);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&data.records[1]), nullptr);
    EXPECT_EQ(KSTAT_NAMED_STR_BUFLEN(&data.records[1]), 0u);
}

TEST(WireStrings, AnOffsetOutsideOfTheStringAreaIsRefused) {
    for (const uintptr_t offset : {1ul, 95ul, 105ul, ~0ul}) {
        NamedData data;
        data.point(0, reinterpret_cast<char*>(offset), 1);
        EXPECT_FALSE(wire::offsets_to_pointers(data.bytes(), 2)) << offset;
    }
    NamedData data;
    data.point(0, reinterpret_cast<char*>(96), 9);
    EXPECT_FALSE(wire::offsets_to_pointers(data.bytes(), 2));
}

TEST(WireStrings, ArriveWithTheirNulWhateverWasSent) {
    NamedData data;
    std::memset(data.area, 'x', sizeof data.area);
    data.point(0, reinterpret_cast<char*>(96), 8);
    ASSERT_TRUE(wire::offsets_to_pointers(data.bytes(), 2));
    EXPECT_STREQ(KSTAT_NAMED_STR_PTR(&data.records[0]), "xxxxxxx");
}

TEST(WireStrings, FollowTheirDataToAnotherBuffer) {
    NamedData from;
    NamedData to = from;
    wire::rebase_pointers(to.bytes(), &from, 2);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&to.records[0]), to.area);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&to.records[1]), nullptr);
}

}  // namespace

}  // namespace blkscope
