#include "blockdev/backing/write_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "page_cache_model.hpp"

namespace blkscope {
namespace {

using page_cache::file_bytes;
using page_cache::kib;
using page_cache::Load;
using page_cache::never;
using page_cache::run;
using Method = WriteChoice::Method;

int64_t allowance(uint64_t bytes) {
    return bytes <= WriteChoice::small_bytes_max ? WriteChoice::small_allowance_ns
                                                 : WriteChoice::allowance_ns;
}

class EachLoad : public ::testing::TestWithParam<Load> {};

// The choice may lose the trials' share and the allowance, within the ten percent.
TEST_P(EachLoad, CostsHardlyMoreThanTheBestWay) {
    const Load load = GetParam();
    WriteChoice choice(file_bytes);
    const int64_t chosen = run(load, &choice, Method::map).ns;
    int64_t best = chosen;
    for (const Method method : {Method::map, Method::pwrite, Method::ring}) {
        const int64_t ns = run(load, nullptr, method).ns;
        best = std::min(best, ns);
    }
    EXPECT_LE(chosen - allowance(load.bytes), best + best / 10);
    EXPECT_LE(choice.trials_ns(load.bytes),
              allowance(load.bytes) + chosen / WriteChoice::trial_share + 1'000'000);
}

INSTANTIATE_TEST_SUITE_P(
    Folios, EachLoad,
    ::testing::Values(Load{1, 4 * kib, 400'000, never}, Load{1, 4 * kib, 400'000, 10'000},
                      Load{1, 16 * kib, 200'000, never}, Load{1, 16 * kib, 200'000, 1000},
                      Load{1, 128 * kib, 50'000, never}, Load{1, 128 * kib, 50'000, 200},
                      Load{512, 4 * kib, 400'000, never}, Load{512, 4 * kib, 400'000, 100'000},
                      Load{512, 16 * kib, 200'000, 50'000}, Load{512, 128 * kib, 50'000, never},
                      Load{512, 128 * kib, 50'000, 10'000}, Load{512, 128 * kib, 50'000, 20}));

// In small folios each page of a mapping faults once. From then on a copy costs half of a pwrite.
TEST(WriteChoice, AMappingThatPaysIsLearntInFourLapsOfTheFile) {
    WriteChoice choice(file_bytes);
    page_cache::Cache cache(1);
    constexpr uint64_t bytes = 128 * kib;
    uint64_t copies = 0;
    for (int lap = 0; lap < 5; ++lap) {
        copies = 0;
        for (uint64_t at = 0; at < file_bytes; at += bytes) {
            const Method method = choice.choose(at, bytes);
            choice.took(method, at, bytes, page_cache::write(cache, method, at, bytes));
            copies += method == Method::map ? 1 : 0;
        }
    }
    EXPECT_GE(copies, file_bytes / bytes * 97 / 100);
}

// In large folios the first copy to a range maps all of it. A range of a large file is written to
// seldom, so the first trial of three laps ends late.
TEST(WriteChoice, AMappingOfALargeFileIsUsedBeforeTheFirstTrialEnds) {
    constexpr uint64_t large_bytes = uint64_t{1} << 30;
    constexpr uint64_t bytes = 4 * kib;
    WriteChoice choice(large_bytes);
    page_cache::Cache cache(page_cache::pages_per_range, large_bytes);
    std::mt19937_64 random(7);
    int copies = 0;
    for (int i = 0; i < 40'000; ++i) {
        const uint64_t at = random() % (large_bytes / bytes) * bytes;
        const Method method = choice.choose(at, bytes);
        choice.took(method, at, bytes, page_cache::write(cache, method, at, bytes));
        copies += method == Method::map ? 1 : 0;
    }
    EXPECT_GE(copies, 30'000);
}

// The trials of a large file last for long. Meanwhile the page cache may become another one.
TEST(WriteChoice, ATrialNoticesThatAnotherMethodHasBecomeCheaper) {
    constexpr uint64_t large_bytes = uint64_t{16} << 30;
    constexpr uint64_t bytes = 4 * kib;
    WriteChoice choice(large_bytes);
    std::mt19937_64 random(7);
    const auto writes = [&](int count, int64_t copy_ns, int64_t pwrite_ns) {
        int64_t all_ns = 0;
        for (int i = 0; i < count; ++i) {
            const uint64_t at = random() % (large_bytes / bytes) * bytes;
            const Method method = choice.choose(at, bytes);
            const int64_t ns = method == Method::map ? copy_ns : pwrite_ns;
            choice.took(method, at, bytes, ns);
            all_ns += ns;
        }
        return all_ns;
    };
    writes(200'000, 1000, 12'000);
    constexpr int count = 500'000;
    const int64_t lost_ns = writes(count, 11'000, 2000) - int64_t{count} * 2000;
    EXPECT_LE(lost_ns, 1'500'000'000);  // only copies: 4,500,000,000
}

// Each write-back makes copies fault, and copies are the cheapest method all the same.
TEST(WriteChoice, CopiesThatAreTheBestMethodTakeNothingFromTrials) {
    constexpr uint64_t bytes = 16 * kib;
    constexpr int count = 1'000'000;
    WriteChoice choice(file_bytes);
    page_cache::Cache cache(page_cache::pages_per_range);
    std::mt19937_64 random(7);
    int copies = 0;
    for (int i = 0; i < 2 * count; ++i) {
        const uint64_t half = i < count ? 0 : file_bytes / 2;
        const uint64_t at = half + random() % (file_bytes / 2 / bytes) * bytes;
        const Method method = choice.choose(at, bytes);
        choice.took(method, at, bytes, page_cache::write(cache, method, at, bytes));
        copies += i >= count && method == Method::map ? 1 : 0;
        if (i % 50'000 == 0) cache.write_back();
    }
    EXPECT_GE(copies, count * 9 / 10);
}

// Only the first range is in the page cache.
TEST(WriteChoice, RangesThatAreNotCachedTakeNothingFromOthers) {
    WriteChoice choice(file_bytes);
    constexpr uint64_t bytes = 128 * kib;
    constexpr int64_t copy_ns = 3'000'000;
    choice.took(Method::map, 0, bytes, copy_ns);
    choice.took(Method::pwrite, 0, bytes, copy_ns / 2);
    choice.took(Method::ring, 0, bytes, copy_ns);
    for (int lap = 0; lap < 100; ++lap) {
        for (uint64_t at = write_size::range_bytes; at < file_bytes; at += bytes) {
            if (choice.choose(at, bytes) == Method::map) choice.not_copied(at, bytes);
        }
    }
    int copies = 0;
    for (int i = 0; i < 100; ++i) copies += choice.choose(0, bytes) == Method::map ? 1 : 0;
    EXPECT_GT(copies, 50);
}

// Each copy costs as much as a first one, because the pages are written back in between.
TEST(WriteChoice, ATrialEndsWithTheAllowance) {
    WriteChoice choice(file_bytes);
    constexpr uint64_t bytes = 128 * kib;
    constexpr int64_t copy_ns = 130'000;
    constexpr int64_t pwrite_ns = 50'000;
    int64_t lost_ns = 0;
    int64_t all_ns = 0;
    for (int lap = 0; lap < 200; ++lap) {
        for (uint64_t at = 0; at < file_bytes; at += bytes) {
            const Method method = choice.choose(at, bytes);
            const int64_t ns = method == Method::map ? copy_ns : pwrite_ns;
            choice.took(method, at, bytes, ns);
            lost_ns += ns - pwrite_ns;
            all_ns += ns;
        }
    }
    EXPECT_GT(lost_ns, WriteChoice::allowance_ns / 2);  // there were trials
    EXPECT_LE(lost_ns, WriteChoice::allowance_ns + all_ns / WriteChoice::trial_share + copy_ns);
}

TEST(WriteChoice, TriesEachWayOnceBeforeItKnows) {
    WriteChoice choice(file_bytes);
    EXPECT_EQ(choice.choose(0, 4096), Method::map);
    choice.took(Method::map, 0, 4096, 1000);
    EXPECT_EQ(choice.choose(0, 4096), Method::pwrite);
    choice.took(Method::pwrite, 0, 4096, 9000);
    EXPECT_EQ(choice.cost_ns(Method::map, 0, 4096), 1000);
    EXPECT_EQ(choice.cost_ns(Method::pwrite, 0, 4096), 9000);
    EXPECT_EQ(choice.cost_ns(Method::pwrite, 0, 8192), 0);  // another class
    EXPECT_EQ(choice.trials_ns(4096), 0);
    choice.took(Method::pwrite, 0, 4096, 9000);
    EXPECT_EQ(choice.trials_ns(4096), 8000);  // what it has cost more than a copy
}

// A page that is copied to for the first time says nothing of later copies.
TEST(WriteChoice, AFirstCopyToARangeDoesNotCountAsAUsualOne) {
    WriteChoice choice(file_bytes);
    for (int i = 0; i < 8; ++i) {
        choice.took(Method::map, 0, 4096, 1000);
        choice.took(Method::pwrite, 0, 4096, 500);
    }
    choice.took(Method::map, write_size::range_bytes, 4096, 9000);
    EXPECT_EQ(choice.cost_ns(Method::map, 2 * write_size::range_bytes, 4096), 1000);
}

TEST(WriteChoice, OnlyLargeWritesGoToTheRing) {
    WriteChoice choice(file_bytes);
    for (int i = 0; i < 10'000; ++i) {
        ASSERT_NE(choice.choose(0, 64 * kib), Method::ring);
        choice.took(Method::map, 0, 64 * kib, 900'000);
        choice.took(Method::pwrite, 0, 64 * kib, 800'000);
    }
    int by_ring = 0;
    for (int i = 0; i < 10'000; ++i) {
        const Method method = choice.choose(0, 128 * kib);
        choice.took(method, 0, 128 * kib, method == Method::ring ? 10'000 : 5'000'000);
        by_ring += method == Method::ring ? 1 : 0;
    }
    EXPECT_GT(by_ring, 9900);
}

// One range has large folios, the other small ones.
TEST(WriteChoice, EachRangeHasItsOwn) {
    WriteChoice choice(file_bytes);
    for (int i = 0; i < 100; ++i) {
        choice.took(Method::map, 0, 4096, 1000);
        choice.took(Method::pwrite, 0, 4096, 15'000);
        choice.took(Method::map, file_bytes - 4096, 4096, 5000);
        choice.took(Method::pwrite, file_bytes - 4096, 4096, 2000);
    }
    EXPECT_LT(choice.cost_ns(Method::map, 0, 4096), choice.cost_ns(Method::pwrite, 0, 4096));
    EXPECT_GT(choice.cost_ns(Method::map, file_bytes - 4096, 4096),
              choice.cost_ns(Method::pwrite, file_bytes - 4096, 4096));
}

// A client can write to each range of a large sparse file. So the server's memory for them has a bound.
TEST(WriteChoice, RangesThatAreFarApartShareTheirMeans) {
    using Table = RangeTable<int>;
    constexpr uint64_t apart = Table::count_max * write_size::range_bytes;
    Table table(100 * apart);
    table.at(0) = 7;
    EXPECT_EQ(table.at(write_size::range_bytes), 0);
    EXPECT_EQ(table.at(apart - 1), 0);
    EXPECT_EQ(table.at(apart), 7);
    EXPECT_EQ(&table.at(99 * apart + 5), &table.at(0));
}

}  // namespace
}  // namespace blkscope
