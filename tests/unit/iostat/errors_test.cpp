#include "tools/iostat/errors.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

kstat_named_t named(const char* name, uchar_t type) {
    kstat_named_t record{};
    std::strncpy(record.name, name, sizeof(record.name) - 1);
    record.data_type = type;
    return record;
}

std::string listing(const ErrorRecords& records, const std::string& name = "sd0") {
    return error_listing(records, {.name = name});
}

TEST(IostatErrors, TheClassesOfDevicesAndPathsCount) {
    EXPECT_TRUE(counts_errors("device_error"));
    EXPECT_TRUE(counts_errors("device_errors"));
    EXPECT_TRUE(counts_errors("iopath_error"));
    EXPECT_FALSE(counts_errors("misc"));
    EXPECT_FALSE(counts_errors("device"));
}

TEST(IostatErrors, EveryTypeThatMeansSomethingIsCopied) {
    std::vector<kstat_named_t> records{
        named("Vendor", KSTAT_DATA_CHAR),        named("Model", KSTAT_DATA_STRING),
        named("Soft Errors", KSTAT_DATA_UINT32), named("Size", KSTAT_DATA_UINT64),
        named("Other", KSTAT_DATA_INT32),        named("Null", KSTAT_DATA_STRING)};
    std::memset(records[0].value.c, 'v', sizeof(records[0].value.c));
    std::string model = "a model";
    records[1].value.str.addr.ptr = model.data();
    records[1].value.str.len = static_cast<uint32_t>(model.size() + 1);
    records[2].value.ui32 = 0xffff'ffffU;
    records[3].value.ui64 = 1ULL << 40;
    const ErrorRecords copied = copy_errors(records.data(), records.size());
    EXPECT_EQ(copied[0].name, "Vendor");
    EXPECT_EQ(std::get<std::string>(copied[0].value), std::string(16, 'v'));
    EXPECT_EQ(std::get<std::string>(copied[1].value), "a model");
    EXPECT_EQ(std::get<uint32_t>(copied[2].value), 0xffff'ffffU);
    EXPECT_EQ(std::get<uint64_t>(copied[3].value), 1ULL << 40);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(copied[4].value));
    EXPECT_EQ(std::get<std::string>(copied[5].value), "");
}

TEST(IostatErrors, CountsGoByPositionAndTheirLowHalf) {
    const ErrorRecords records{{"any", 7U}, {"", (uint64_t{1} << 32) + 8}, {"text", "9"}};
    EXPECT_EQ(error_count(records, 0), 7u);
    EXPECT_EQ(error_count(records, 1), 8u);
    EXPECT_EQ(error_count(records, 2), 0u);
    EXPECT_EQ(error_count(records, 3), 0u);
}

TEST(IostatErrors, TheNamesRoomDependsOnItsLengthAndOnNamesLast) {
    const ErrorRecords one{{"Soft Errors", 1U}};
    EXPECT_EQ(listing(one, "sd0"), "sd0       Soft Errors: 1 \n");
    EXPECT_EQ(listing(one, "abcdefghijkl"), "abcdefghi Soft Errors: 1 \n");
    EXPECT_EQ(listing(one, "abcdefghijklmnopq"), "abcdefghijklmnopq    Soft Errors: 1 \n");
    EXPECT_EQ(listing(one, "abcdefghijklmnopqrstu"), "abcdefghijklmnopqrstu Soft Errors: 1 \n");
    EXPECT_EQ(error_listing(one, {.name = "c1t0d0", .names_last = true}),
              "c1t0d0           Soft Errors: 1 \n");
    EXPECT_EQ(error_listing(one, {.name = "abcdefghijklmnop", .names_last = true}),
              "abcdefghijklmnop Soft Errors: 1 \n");
}

TEST(IostatErrors, TheIdentityMayStandForTheSerialNumber) {
    const ErrorRecords records{{"Serial No", "VB1"}, {"Revision", "1.0"}};
    const std::string id = "naa.5000";
    EXPECT_EQ(error_listing(records, {.name = "sd0", .device_id = &id}),
              "sd0       Device Id: naa.5000 Revision: 1.0 \n");
    const std::string unknown;
    EXPECT_EQ(error_listing(records, {.name = "sd0", .device_id = &unknown}),
              "sd0       Device Id: Revision: 1.0 \n");
}

TEST(IostatErrors, WideCountersAreListedAsNarrowOnes) {
    EXPECT_EQ(listing({{"Hard Errors", (uint64_t{1} << 32) + 5}}), "sd0       Hard Errors: 5 \n");
    EXPECT_EQ(listing({{"Size", 5U}}), "sd0       Size: 5 \n");  // not the size in bytes
}

TEST(IostatErrors, UnnamedRecordsAreSkippedButKeepTheirPosition) {
    EXPECT_EQ(listing({{"A", 1U}, {"", 2U}, {"B", 3U}, {"C", 4U}}),
              "sd0       A: 1 B: 3 \nC: 4 \n");
    EXPECT_EQ(listing({{"A", 1U}, {"B", 3U}, {"", 2U}, {"C", 4U}}), "sd0       A: 1 B: 3 C: 4 \n");
}

TEST(IostatErrors, ALineEndsOnceSixtyTwoAreReached) {
    const std::string name(30, 'n');
    // The columns 30 + 4 and 23 + 4 are 61 together, and one more character makes 62.
    const ErrorRecords short_of{{"", {}}, {"", {}}, {"", {}}, {name, 1U}, {name.substr(7), 2U},
                                {"C", 3U}};
    EXPECT_EQ(listing(short_of), "sd0       " + name + ": 1 " + name.substr(7) + ": 2 C: 3 \n");
    const ErrorRecords reached{{"", {}}, {"", {}}, {"", {}}, {name, 1U}, {name.substr(6), 2U},
                               {"C", 3U}};
    EXPECT_EQ(listing(reached), "sd0       " + name + ": 1 " + name.substr(6) + ": 2 \nC: 3 \n");
}

TEST(IostatErrors, ARecordOfAnotherTypePrintsNothing) {
    EXPECT_EQ(listing({{"Soft Errors", 1U}, {"odd", {}}}), "sd0       Soft Errors: 1 \n");
}

}  // namespace
}  // namespace blkscope::iostat
