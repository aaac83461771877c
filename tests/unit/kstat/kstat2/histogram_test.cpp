// Counting: the four histograms of the manual page, arrays of the provider's, and many at once.
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "support.hpp"

namespace blkscope::kstat2::tests {

namespace {

uint64_t sum(const std::vector<uint64_t>& buckets) {
    return std::accumulate(buckets.begin(), buckets.end(), uint64_t{0});
}

Owned installed(const std::string& path, const Buckets& shape, uint64_t* buckets = nullptr,
                uint16_t num_buckets = 0) {
    Owned ksp(histogram(path, shape, 0, buckets, num_buckets));
    if (ksp) kstat2_install(ksp.get());
    return ksp;
}

TEST(Kstat2Histogram, HasTheFivePairsOfTheManual) {
    Segments segments("misc/hist/pairs");
    const Owned ksp(kstat2_create_histogram(segments.data(), 3, ALL_ZONES, KSTAT2_NVHIST_LINEAR,
                                            KSTAT2_NVMT_T_REL, 1000000, KSTAT2_NVMF_FRACT, nullptr,
                                            0, 100, 500, 100, 0, "time", KSTAT2_MF_NONE));
    kstat2_install(ksp.get());
    const auto map = listed(ksp.get());
    ASSERT_TRUE(map);
    EXPECT_EQ(map->metatype, KSTAT2_MT_HIST);
    std::vector<std::string> names;
    for (const Field& field : map->fields) names.push_back(field.name);
    EXPECT_EQ(names,
              (std::vector<std::string>{"buckets", "type", "range_min", "range_max", "stepping"}));
    EXPECT_EQ(map->fields[0].type, KSTAT2_NVVT_INTS);
    EXPECT_EQ(map->fields[0].md.type, KSTAT2_NVMT_T_REL);
    EXPECT_EQ(map->fields[0].md.scale, 1000000U);
    EXPECT_EQ(map->fields[0].md.flags, KSTAT2_NVMF_FRACT);
    const Reading reading = read(ksp.get());
    EXPECT_EQ(integer(reading, 1), static_cast<uint64_t>(KSTAT2_NVHIST_LINEAR));
    EXPECT_EQ(integer(reading, 2), 100U);
    EXPECT_EQ(integer(reading, 3), 500U);
    EXPECT_EQ(integer(reading, 4), 100U);
}

TEST(Kstat2Histogram, TheLogarithmicOnesPublishNoRange) {
    const Owned ksp = installed("misc/hist/norange", Buckets(KSTAT2_NVHIST_LOG10, 1, 2, 3));
    const Reading reading = read(ksp.get());
    EXPECT_EQ(integer(reading, 1), static_cast<uint64_t>(KSTAT2_NVHIST_LOG10));
    for (size_t i = 2; i < 5; ++i) EXPECT_EQ(integer(reading, i), 0U);
}

TEST(Kstat2Histogram, AllButLinearHaveTheirBucketsFromTheStart) {
    EXPECT_EQ(
        integers(read(installed("misc/hist/a", Buckets(KSTAT2_NVHIST_LOG2, 0, 0, 0)).get())).size(),
        65U);
    EXPECT_EQ(integers(read(installed("misc/hist/a", Buckets(KSTAT2_NVHIST_LOG10, 0, 0, 0)).get()))
                  .size(),
              21U);
    EXPECT_EQ(
        integers(read(installed("misc/hist/a", Buckets(KSTAT2_NVHIST_LOG10_LIN, 2, 4, 5)).get()))
            .size(),
        17U);
}

TEST(Kstat2Histogram, ALinearOneGrowsToTheHighestBucketThatWasTouched) {
    const Owned ksp = installed("misc/hist/grows", Buckets(KSTAT2_NVHIST_LINEAR, 0, 1024, 128));
    EXPECT_TRUE(integers(read(ksp.get())).empty());
    kstat2_hist_add_value(ksp.get(), 256);
    EXPECT_EQ(integers(read(ksp.get())), (std::vector<uint64_t>{0, 0, 0, 1}));
    kstat2_hist_add_value(ksp.get(), 0);
    EXPECT_EQ(integers(read(ksp.get())), (std::vector<uint64_t>{1, 0, 0, 1}));
    kstat2_hist_add_value(ksp.get(), UINT64_MAX);
    EXPECT_EQ(integers(read(ksp.get())).size(), 10U);
    EXPECT_EQ(KSTAT2_NAMED_PTR(ksp)->value.integers.length, 10U);
}

TEST(Kstat2Histogram, AnUnboundedOneTakesAnyValue) {
    const Owned ksp = installed("misc/hist/unbounded", Buckets(KSTAT2_NVHIST_LINEAR, 0, 0, 10));
    kstat2_hist_add_value(ksp.get(), 25);
    EXPECT_EQ(integers(read(ksp.get())), (std::vector<uint64_t>{0, 0, 0, 1}));
    const uint64_t* const before = KSTAT2_NAMED_PTR(ksp)->value.integers.array;
    kstat2_hist_add_value(ksp.get(), UINT64_MAX);
    const auto buckets = integers(read(ksp.get()));
    EXPECT_EQ(buckets.size(), 65535U);
    EXPECT_EQ(buckets.back(), 1U);
    EXPECT_EQ(buckets[3], 1U);
    EXPECT_EQ(KSTAT2_NAMED_PTR(ksp)->value.integers.array, before) << "it does not move";
}

TEST(Kstat2Histogram, TheSumOfTheBucketsIsTheNumberOfAdds) {
    std::mt19937_64 random(20260721);
    for (const Buckets& shape :
         {Buckets(KSTAT2_NVHIST_LINEAR, 0, 1024, 128), Buckets(KSTAT2_NVHIST_LINEAR, 7, 0, 1),
          Buckets(KSTAT2_NVHIST_LOG2, 0, 0, 0), Buckets(KSTAT2_NVHIST_LOG10, 0, 0, 0),
          Buckets(KSTAT2_NVHIST_LOG10_LIN, 3, 9, 20)}) {
        const Owned ksp = installed("misc/hist/sum", shape);
        for (unsigned i = 0; i < 5000; ++i) kstat2_hist_add_value(ksp.get(), random() >> (i % 64));
        EXPECT_EQ(sum(integers(read(ksp.get()))), 5000U);
    }
}

TEST(Kstat2Histogram, AnArrayOfTheProvidersIsTheValue) {
    uint64_t buckets[10] = {3};
    const Owned ksp =
        installed("misc/hist/own", Buckets(KSTAT2_NVHIST_LINEAR, 0, 1024, 128), buckets, 10);
    buckets[2] = 7;
    kstat2_hist_add_value(ksp.get(), 1000);
    EXPECT_EQ(buckets[8], 1U);
    EXPECT_EQ(integers(read(ksp.get())), (std::vector<uint64_t>{3, 0, 7, 0, 0, 0, 0, 0, 1, 0}));
}

TEST(Kstat2Histogram, InAnArrayOfTheProvidersTheLastBucketTakesWhatDoesNotFit) {
    uint64_t buckets[3]{};
    const Owned ksp =
        installed("misc/hist/clamp", Buckets(KSTAT2_NVHIST_LINEAR, 0, 0, 1), buckets, 3);
    kstat2_hist_add_value(ksp.get(), 1'000'000);
    EXPECT_EQ(integers(read(ksp.get())), (std::vector<uint64_t>{0, 0, 1}));
}

TEST(Kstat2Histogram, CountsBeforeItIsInstalled) {
    const Owned ksp(histogram("misc/hist/early", Buckets(KSTAT2_NVHIST_LOG2, 0, 0, 0)));
    kstat2_hist_add_value(ksp.get(), 1);
    kstat2_install(ksp.get());
    EXPECT_EQ(integers(read(ksp.get()))[1], 1U);
}

TEST(Kstat2Histogram, AddingToWhatIsNoHistogramDoesNothing) {
    kstat2_hist_add_value(nullptr, 1);
    const Owned ksp(number("misc/hist/not", 5));
    kstat2_hist_add_value(ksp.get(), 1);
    EXPECT_EQ(integer(read(ksp.get())), 5U);
}

TEST(Kstat2Histogram, AddingToADeletedOneThatIsHeldDoesNothing) {
    Owned owned = installed("misc/hist/held", Buckets(KSTAT2_NVHIST_LOG2, 0, 0, 0));
    kstat2_t* const ksp = owned.release();
    kstat2_hold_bykid(ksp->ks2_kid);
    const uint64_t* const buckets = KSTAT2_NAMED_PTR(ksp)->value.integers.array;
    kstat2_delete(ksp);
    kstat2_hist_add_value(ksp, 1);
    EXPECT_EQ(buckets[1], 0U);
    kstat2_rele(ksp);
}

struct Adders {
    static constexpr unsigned threads = 8;
    static constexpr unsigned adds = 20'000;

    explicit Adders(kstat2_t* ksp) {
        for (unsigned t = 0; t < threads; ++t) {
            running.emplace_back([this, ksp, t] {
                std::mt19937_64 random(t);
                for (unsigned i = 0; i < adds; ++i) {
                    begun.fetch_add(1, std::memory_order_relaxed);
                    kstat2_hist_add_value(ksp, random() >> (i % 64));
                    ended.fetch_add(1, std::memory_order_release);
                }
                left.fetch_sub(1);
            });
        }
    }
    ~Adders() { join(); }
    Adders(const Adders&) = delete;
    Adders& operator=(const Adders&) = delete;

    void join() {
        for (std::thread& thread : running) {
            if (thread.joinable()) thread.join();
        }
    }

    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> ended{0};
    std::atomic<unsigned> left{threads};
    std::vector<std::thread> running;
};

// A reader's guarantee while others count: each bucket only grows. The sum has at least the values
// counted before the read, and at most the values begun before its end.
void expect_sound_snapshots(const Buckets& shape) {
    const Owned ksp = installed("misc/hist/many", shape);
    Adders adders(ksp.get());
    std::vector<uint64_t> last;
    do {
        const uint64_t ended = adders.ended.load(std::memory_order_acquire);
        const auto buckets = integers(read(ksp.get()));
        const uint64_t begun = adders.begun.load();
        ASSERT_GE(buckets.size(), last.size());
        for (size_t i = 0; i < last.size(); ++i) ASSERT_GE(buckets[i], last[i]) << i;
        ASSERT_GE(sum(buckets), ended);
        ASSERT_LE(sum(buckets), begun);
        last = buckets;
    } while (adders.left > 0);
    adders.join();
    EXPECT_EQ(sum(integers(read(ksp.get()))), uint64_t{Adders::threads} * Adders::adds);
}

TEST(Kstat2Histogram, NothingIsLostWhileManyCountAndOneReads) {
    expect_sound_snapshots(Buckets(KSTAT2_NVHIST_LOG10_LIN, 3, 9, 20));
}

TEST(Kstat2Histogram, NothingIsLostWhileALinearOneGrows) {
    expect_sound_snapshots(Buckets(KSTAT2_NVHIST_LINEAR, 0, 0, 1));
    expect_sound_snapshots(Buckets(KSTAT2_NVHIST_LINEAR, 0, 1024, 128));
}

TEST(Kstat2Histogram, AHolderMayCountWhileItIsDeleted) {
    for (int round = 0; round < 50; ++round) {
        Owned owned = installed("misc/hist/race", Buckets(KSTAT2_NVHIST_LOG2, 0, 0, 0));
        kstat2_t* const ksp = owned.release();
        const kid_t kid = ksp->ks2_kid;
        std::thread counter([kid] {
            kstat2_t* const held = kstat2_hold_bykid(kid);
            if (held == nullptr) return;
            for (int i = 0; i < 100; ++i) kstat2_hist_add_value(held, 5);
            kstat2_rele(held);
        });
        kstat2_delete(ksp);
        counter.join();
        EXPECT_EQ(kstat2_hold_bykid(kid), nullptr);
    }
}

}  // namespace

}  // namespace blkscope::kstat2::tests
