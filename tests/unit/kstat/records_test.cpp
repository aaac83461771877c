#include <gtest/gtest.h>
#include <sys/kstat.h>

#include <cstring>
#include <string>

namespace {

TEST(KstatRecords, SetStringCutsAtThirtyCharactersAndClearsTheRest) {
    char field[KSTAT_STRLEN + 1];
    std::memset(field, 'x', sizeof field);
    kstat_set_string(field, std::string(40, 'a').c_str());
    EXPECT_EQ(std::string(field), std::string(30, 'a'));
    EXPECT_EQ(field[KSTAT_STRLEN], 'x');
    kstat_set_string(field, "b");
    for (int i = 1; i < KSTAT_STRLEN; ++i) EXPECT_EQ(field[i], 0);
}

TEST(KstatRecords, NamedInitLeavesTheValueButForStrings) {
    kstat_named_t named{};
    named.value.ui64 = 7;
    kstat_named_init(&named, "n", KSTAT_DATA_UINT64);
    EXPECT_STREQ(named.name, "n");
    EXPECT_EQ(named.value.ui64, 7u);
    kstat_named_init(&named, "s", KSTAT_DATA_STRING);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&named), nullptr);
    EXPECT_EQ(KSTAT_NAMED_STR_BUFLEN(&named), 0u);
}

TEST(KstatRecords, SetstrKeepsThePointerAndCountsTheNul) {
    kstat_named_t named{};
    kstat_named_init(&named, "s", KSTAT_DATA_STRING);
    const char text[] = "hello";
    kstat_named_setstr(&named, text);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(&named), text);
    EXPECT_EQ(KSTAT_NAMED_STR_BUFLEN(&named), 6u);
    kstat_named_setstr(&named, nullptr);
    EXPECT_EQ(KSTAT_NAMED_STR_BUFLEN(&named), 0u);
}

TEST(KstatRecordsDeathTest, SetstrOfANumberAborts) {
    kstat_named_t named{};
    kstat_named_init(&named, "number", KSTAT_DATA_INT32);
    EXPECT_DEATH(kstat_named_setstr(&named, "x"), "'number' is not a string");
}

TEST(KstatTimer, CountsItsEventsWithTheirShortestAndLongest) {
    kstat_timer_t timer{};
    kstat_timer_init(&timer, "flush");
    EXPECT_STREQ(timer.name, "flush");
    timer.start_time = gethrtime() - 1'000'000'000;
    kstat_timer_stop(&timer);
    EXPECT_EQ(timer.min_time, timer.max_time);
    EXPECT_GE(timer.min_time, 1'000'000'000);
    kstat_timer_start(&timer);
    kstat_timer_stop(&timer);
    EXPECT_EQ(timer.num_events, 2u);
    EXPECT_LT(timer.min_time, 1'000'000'000);
    EXPECT_EQ(timer.elapsed_time, timer.min_time + timer.max_time);
    EXPECT_EQ(timer.stop_time - timer.start_time, timer.min_time);
}

}  // namespace
