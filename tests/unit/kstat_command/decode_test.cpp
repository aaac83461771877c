#include "tools/kstat/decode.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tools/kstat/format.hpp"

namespace blkscope::kstat_command {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs shown(const kstat_t& ksp) {
    Pairs pairs;
    for (const Statistic& s : decode(ksp)) pairs.emplace_back(s.name, value_text(s.value));
    return pairs;
}

template <class Record>
kstat_t holding(std::vector<Record>& records, uchar_t type) {
    kstat_t ksp{};
    ksp.ks_type = type;
    ksp.ks_data = records.data();
    ksp.ks_ndata = static_cast<uint_t>(records.size());
    ksp.ks_data_size = records.size() * sizeof(Record);
    return ksp;
}

kstat_named_t named(const char* name, uchar_t type) {
    kstat_named_t record{};
    std::memcpy(record.name, name, std::min(std::strlen(name), sizeof(record.name)));
    record.data_type = type;
    return record;
}

TEST(KstatDecode, ANamedRecordHasAnyOfTheTypes) {
    char text[] = "hello";
    std::vector records{named("c", KSTAT_DATA_CHAR),     named("i32", KSTAT_DATA_INT32),
                        named("u32", KSTAT_DATA_UINT32), named("i64", KSTAT_DATA_INT64),
                        named("u64", KSTAT_DATA_UINT64), named("f", KSTAT_DATA_FLOAT),
                        named("d", KSTAT_DATA_DOUBLE),   named("s", KSTAT_DATA_STRING)};
    std::strcpy(records[0].value.c, "online");
    records[1].value.i32 = -2147483647 - 1;
    records[2].value.ui32 = 4294967295U;
    records[3].value.i64 = -9'223'372'036'854'775'807 - 1;
    records[4].value.ui64 = 18'446'744'073'709'551'615U;
    records[5].value.f = 0.1F;
    records[6].value.d = -2.5;
    records[7].value.str.addr.ptr = text;
    records[7].value.str.len = sizeof(text);
    EXPECT_EQ(shown(holding(records, KSTAT_TYPE_NAMED)), (Pairs{{"c", "online"},
                                                                {"i32", "-2147483648"},
                                                                {"u32", "4294967295"},
                                                                {"i64", "-9223372036854775808"},
                                                                {"u64", "18446744073709551615"},
                                                                {"f", "0.1"},
                                                                {"d", "-2.5"},
                                                                {"s", "hello"}}));
}

TEST(KstatDecode, CharactersEndWithTheirSixteenBytes) {
    std::vector records{named("c", KSTAT_DATA_CHAR), named("next", KSTAT_DATA_INT32)};
    std::memcpy(records[0].value.c, "0123456789abcdef", 16);
    EXPECT_EQ(shown(holding(records, KSTAT_TYPE_NAMED)),
              (Pairs{{"c", "0123456789abcdef"}, {"next", "0"}}));
}

TEST(KstatDecode, AStringEndsWithItsLengthAndMayBeNull) {
    char text[] = "abcdef";
    std::vector records{named("bounded", KSTAT_DATA_STRING), named("null", KSTAT_DATA_STRING)};
    records[0].value.str.addr.ptr = text;
    records[0].value.str.len = 3;
    EXPECT_EQ(shown(holding(records, KSTAT_TYPE_NAMED)),
              (Pairs{{"bounded", "abc"}, {"null", "(null)"}}));
}

TEST(KstatDecode, RecordsWithoutANameOrOfAnUnknownTypeAreLeftOut) {
    std::vector records{named("", KSTAT_DATA_INT32), named("odd", 77), named("kept", 1)};
    EXPECT_EQ(shown(holding(records, KSTAT_TYPE_NAMED)), (Pairs{{"kept", "0"}}));
}

TEST(KstatDecode, ANameMayFillItsField) {
    std::vector records{named(std::string(31, 'n').c_str(), KSTAT_DATA_INT32)};
    EXPECT_EQ(shown(holding(records, KSTAT_TYPE_NAMED)), (Pairs{{std::string(31, 'n'), "0"}}));
}

TEST(KstatDecode, NothingIsReadBehindTheData) {
    std::vector records{named("a", KSTAT_DATA_INT32), named("b", KSTAT_DATA_INT32)};
    kstat_t ksp = holding(records, KSTAT_TYPE_NAMED);
    ksp.ks_ndata = 1000;
    EXPECT_EQ(shown(ksp).size(), 2u);
    ksp.ks_data_size = sizeof(kstat_named_t) * 2 - 1;
    EXPECT_EQ(shown(ksp).size(), 1u);
    for (uchar_t type = KSTAT_TYPE_NAMED; type <= KSTAT_TYPE_TIMER; ++type) {
        ksp.ks_type = type;
        ksp.ks_data_size = 19;
        EXPECT_TRUE(decode(ksp).empty());
    }
    ksp.ks_data = nullptr;
    ksp.ks_data_size = 1000;
    EXPECT_TRUE(decode(ksp).empty());
    ksp.ks_type = 9;
    EXPECT_TRUE(decode(ksp).empty());
}

TEST(KstatDecode, InterruptsHaveFiveCounts) {
    std::vector<kstat_intr_t> records{{{1, 2, 3, 4, 4294967295U}}};
    EXPECT_EQ(shown(holding(records, KSTAT_TYPE_INTR)),
              (Pairs{{"hard", "1"},
                     {"soft", "2"},
                     {"watchdog", "3"},
                     {"spurious", "4"},
                     {"multiple_service", "4294967295"}}));
}

TEST(KstatDecode, TimesOfAnIoKstatAreNanoseconds) {
    kstat_io_t io{};
    io.nread = 18'446'744'073'709'551'615U;
    io.nwritten = 2;
    io.reads = 4'294'967'295U;
    io.writes = 4;
    io.wtime = 1'000'000'005;
    io.wlentime = 6;
    io.wlastupdate = 7;
    io.rtime = 8;
    io.rlentime = 9;
    io.rlastupdate = 10;
    io.wcnt = 11;
    io.rcnt = 12;
    std::vector records{io};
    EXPECT_EQ(shown(holding(records, KSTAT_TYPE_IO)), (Pairs{{"nread", "18446744073709551615"},
                                                             {"nwritten", "2"},
                                                             {"reads", "4294967295"},
                                                             {"writes", "4"},
                                                             {"wtime", "1000000005"},
                                                             {"wlentime", "6"},
                                                             {"wlastupdate", "7"},
                                                             {"rtime", "8"},
                                                             {"rlentime", "9"},
                                                             {"rlastupdate", "10"},
                                                             {"wcnt", "11"},
                                                             {"rcnt", "12"}}));
}

TEST(KstatDecode, OnlyTheFirstTimerIsShown) {
    kstat_timer_t timer{};
    std::strcpy(timer.name, "latency");
    timer.num_events = 1;
    timer.elapsed_time = 2;
    timer.min_time = 3;
    timer.max_time = 4;
    timer.start_time = 5;
    timer.stop_time = 6;
    std::vector records{timer, kstat_timer_t{}};
    EXPECT_EQ(shown(holding(records, KSTAT_TYPE_TIMER)), (Pairs{{"name", "latency"},
                                                                {"num_events", "1"},
                                                                {"elapsed_time", "2"},
                                                                {"min_time", "3"},
                                                                {"max_time", "4"},
                                                                {"start_time", "5"},
                                                                {"stop_time", "6"}}));
}

}  // namespace
}  // namespace blkscope::kstat_command
