#include "tools/iostat/errors.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <random>

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

TEST(IostatErrors, TheSizeBeginsALineOnlyIfOneIsBegun) {
    const std::string serial(51, 's');  // with the name of the record, 60 and 62 columns
    const ErrorRecords short_of{{"", {}}, {"", {}}, {"", {}}, {"Serial No", serial}, {"Size", 5UL}};
    EXPECT_EQ(listing(short_of), "sd0       Serial No: " + serial + " \nSize: 0.00GB <5 bytes>\n");
    const ErrorRecords reached{
        {"", {}}, {"", {}}, {"", {}}, {"Serial No", serial + "xx"}, {"Size", 5UL}};
    EXPECT_EQ(listing(reached), "sd0       Serial No: " + serial + "xx \nSize: 0.00GB <5 bytes>\n");
    EXPECT_EQ(listing({{"Size", 5UL}}), "sd0       \nSize: 0.00GB <5 bytes>\n");
}

TEST(IostatErrors, ADeviceWithoutNamedRecordsIsALine) {
    EXPECT_EQ(listing({{"", 1U}}), "sd0       \n");
}

TEST(IostatErrors, RecordsMayBeSeparatedByCommas) {
    EXPECT_EQ(error_listing(error_records(), {.name = "sd0", .comma_separated = true}),
              "sd0       ,Soft Errors: 1 ,Hard Errors: 2 ,Transport Errors: 3 \n"
              "Vendor: ATA ,Product: VBOX HARDDISK ,Revision: 1.0 ,Serial No: VB12345678 \n"
              "Size: 17.18GB <17179869184 bytes>\n"
              "Media Error: 0 ,Device Not Ready: 0 ,No Device: 0 ,Recoverable: 0 \n"
              "Illegal Request: 4 ,Predictive Failure Analysis: 0 \n");
}

// The original's listing, step by step. A comma may stand before each part but the first of a line.
// A line without a part does not end.
class Original {
  public:
    explicit Original(const Listing& listing) : listing_(listing) {}

    std::string list(const ErrorRecords& records) {
        const size_t width = listing_.name.size() > 16 ? 20 : listing_.names_last ? 16 : 9;
        std::string name = listing_.name;
        if (name.size() <= 20) name.resize(width, ' ');
        push(name + " ");
        size_t column = 0;
        for (size_t i = 0; i < records.size(); ++i) {
            if (records[i].name.empty()) continue;
            column += records[i].name.size();
            column = record(records[i], column);
            if (column >= 62 || i == 2) {
                new_line();
                column = 0;
            }
        }
        new_line();
        return out_;
    }

  private:
    void push(const std::string& part) {
        if (line_begun_ && listing_.comma_separated) out_ += ',';
        out_ += part;
        line_begun_ = true;
    }
    void new_line() {
        if (line_begun_) out_ += '\n';
        line_begun_ = false;
    }
    size_t record(const ErrorRecord& one, size_t column) {
        if (const auto* text = std::get_if<std::string>(&one.value)) {
            push(one.name + ": " + *text + " ");
            return column + text->size();
        }
        if (const auto* narrow = std::get_if<uint32_t>(&one.value)) {
            push(one.name + ": " + std::to_string(*narrow) + " ");
            return column + 4;
        }
        if (!std::holds_alternative<uint64_t>(one.value)) return column;
        const uint64_t wide = std::get<uint64_t>(one.value);
        if (one.name != "Size") {
            push(one.name + ": " + std::to_string(static_cast<uint32_t>(wide)) + " ");
            return column + 4;
        }
        char size[64];
        std::snprintf(size, sizeof size, "Size: %2.2fGB <%llu bytes>",
                      static_cast<double>(static_cast<float>(wide) / 1000000000.0F),
                      static_cast<unsigned long long>(wide));
        new_line();
        push(size);
        new_line();
        return 0;
    }

    Listing listing_;
    std::string out_;
    bool line_begun_ = false;
};

TEST(IostatErrors, ListingsAreTheOriginals) {
    std::mt19937 random(20261123);
    for (int i = 0; i < 20'000; ++i) {
        Listing asked{.name = std::string(1 + random() % 24, 'd')};
        asked.names_last = random() % 2 == 0;
        asked.comma_separated = random() % 2 == 0;
        ErrorRecords records(1 + random() % 16);
        for (ErrorRecord& record : records) {
            if (random() % 8 > 0) record.name = std::string(1 + random() % 20, 'n');
            if (random() % 6 == 0) record.name = "Size";
            if (random() % 3 == 0) record.value = std::string(random() % 30, 'v');
            if (random() % 3 == 0) record.value = static_cast<uint32_t>(random());
            if (random() % 3 == 0) record.value = (uint64_t{random()} << 32) | random();
        }
        ASSERT_EQ(error_listing(records, asked), Original(asked).list(records));
    }
}

TEST(IostatErrors, ARecordOfAnotherTypePrintsNothing) {
    EXPECT_EQ(listing({{"Soft Errors", 1U}, {"odd", {}}}), "sd0       Soft Errors: 1 \n");
}

}  // namespace
}  // namespace blkscope::iostat
