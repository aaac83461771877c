#include "tools/stats/blob.hpp"

#include <blkscope/stats.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "stats/device_template/io_stats_template.hpp"

namespace blkscope::stats_command {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const statsblob* blob) {
    Bytes bytes(blob->cursz);
    std::memcpy(bytes.data(), blob, bytes.size());
    return bytes;
}

struct Destroy {
    void operator()(statsblob* blob) const { stats_blob_destroy(blob); }
};
using Owned = std::unique_ptr<statsblob, Destroy>;

Owned blob_of(int tpl) {
    return Owned(stats_blob_alloc(static_cast<uint32_t>(tpl), 0));
}

Variables read(const Bytes& bytes) {
    auto blob = read_blob(bytes);
    if (!blob) ADD_FAILURE() << blob.error();
    return std::move(*blob);
}

// A template of two variables of signed and of Q numbers, with everything that blkscope's lacks.
int other_template() {
    static const int tpl = [] {
        const int made = stats_tpl_alloc("test.other", 0);
        auto buckets = stats_hist_lin(VSD_DTYPE_CRHIST32, static_cast<uint64_t>(-20), 20, 10,
                                      VSD_HIST_LBOUND_INF);
        voistatspec specs[] = {STATS_VSS_SUM(), STATS_VSS_MIN(), stats_vss_hist(buckets)};
        EXPECT_EQ(stats_tpl_add_voistats(static_cast<uint32_t>(made), 2, "drift", VSD_DTYPE_INT_S32,
                                         NVSS(specs), specs, 0),
                  0);
        return made;
    }();
    return tpl;
}

TEST(Blob, OfADeviceHasItsVariablesByName) {
    const Owned blob = blob_of(IoStatsTemplate::make());
    for (uint64_t ns = 1; ns <= 1000; ++ns) {
        ASSERT_EQ(stats_voi_update_abs_u64(blob.get(), IoStatsTemplate::read_wait, ns * 1000), 0);
    }
    const Variables variables = read(bytes_of(blob.get()));
    ASSERT_EQ(variables.size(), size_t{IoStatsTemplate::voi_count});
    const Variable& wait = variables[IoStatsTemplate::read_wait];
    EXPECT_EQ(wait.name, "read_wait_ns");
    EXPECT_EQ(wait.count, 1000u);
    EXPECT_EQ(wait.sum, Number(uint64_t{500'500'000}));
    EXPECT_EQ(wait.min, Number(uint64_t{1000}));
    EXPECT_EQ(wait.max, Number(uint64_t{1'000'000}));
    EXPECT_EQ(wait.errors, 0u);
    ASSERT_EQ(wait.quantiles.size(), 4u);
    EXPECT_STREQ(wait.quantiles[1].name, "p90");
    EXPECT_NEAR(wait.quantiles[1].value, 900'000, 5000);
    uint64_t in_buckets = wait.outside;
    for (const Bucket& bucket : wait.buckets) in_buckets += bucket.count;
    EXPECT_EQ(in_buckets, 1000u);
    EXPECT_EQ(wait.buckets[0].from, Number(uint64_t{0}));
    EXPECT_EQ(wait.buckets[0].count, 1u);  // 1000 ns; the next bucket begins at 1024
    EXPECT_EQ(wait.buckets[1].from, Number(uint64_t{1024}));
}

TEST(Blob, HasNoExtremesAndNoQuantilesBeforeAnythingIsCounted) {
    const Owned blob = blob_of(IoStatsTemplate::make());
    for (const Variable& variable : read(bytes_of(blob.get()))) {
        EXPECT_EQ(variable.count, 0u);
        EXPECT_FALSE(variable.min);
        EXPECT_FALSE(variable.max);
        EXPECT_TRUE(variable.quantiles.empty());
    }
}

TEST(Blob, OfNegativeNumbersHasNegativeBounds) {
    const Owned blob = blob_of(other_template());
    for (const int32_t value : {-100, -15, -15, 7}) {
        ASSERT_EQ(stats_voi_update_abs_s32(blob.get(), 2, value), 0);
    }
    const Variables variables = read(bytes_of(blob.get()));
    ASSERT_EQ(variables.size(), 1u);
    EXPECT_EQ(variables[0].name, "drift");
    EXPECT_EQ(variables[0].count, 4u);  // the count of the histogram
    EXPECT_EQ(variables[0].sum, Number(int64_t{-123}));
    EXPECT_EQ(variables[0].min, Number(int64_t{-100}));
    EXPECT_FALSE(variables[0].max);
    ASSERT_GT(variables[0].buckets.size(), 3u);
    EXPECT_EQ(variables[0].buckets[0].count, 1u);
    EXPECT_EQ(variables[0].buckets[1].from, Number(int64_t{-20}));
    EXPECT_EQ(variables[0].buckets[1].count, 2u);
    EXPECT_EQ(variables[0].buckets[3].from, Number(int64_t{0}));
    EXPECT_EQ(variables[0].buckets[3].count, 1u);
}

// The hash of the template is behind the first eight bytes of a blob.
constexpr size_t hash_at = 8;

TEST(Blob, OfAnUnknownTemplateHasNumberedVariables) {
    Bytes bytes = bytes_of(blob_of(other_template()).get());
    bytes[hash_at] ^= std::byte{1};
    EXPECT_EQ(read(bytes).at(0).name, "voi2");
}

TEST(Blob, ThatLiesAboutItsTemplateHasNumberedVariablesToo) {
    Bytes bytes = bytes_of(blob_of(IoStatsTemplate::make()).get());
    const Owned other = blob_of(other_template());
    std::memcpy(bytes.data() + hash_at, bytes_of(other.get()).data() + hash_at, sizeof(uint32_t));
    const Variables variables = read(bytes);
    ASSERT_EQ(variables.size(), size_t{IoStatsTemplate::voi_count});
    EXPECT_EQ(variables[0].name, "voi0");
    EXPECT_EQ(variables[5].name, "voi5");
}

TEST(Blob, ThatIsNoneIsRefusedInWords) {
    const auto why = [](const Bytes& bytes) { return read_blob(bytes).error(); };
    EXPECT_EQ(why({}), "not a blob of stats(3)");
    EXPECT_EQ(why(Bytes(100)), "a blob of another machine or version of stats(3)");
    Bytes bytes = bytes_of(blob_of(IoStatsTemplate::make()).get());
    bytes.pop_back();
    EXPECT_EQ(why(bytes), "not a blob of stats(3)");
}

// Any bytes give an answer, and no read outside of the blob (the asan build would report it).
TEST(Blob, WithAnyBytesChangedIsReadOrRefused) {
    const Owned blob = blob_of(IoStatsTemplate::make());
    for (uint64_t i = 0; i < 300; ++i) {
        stats_voi_update_abs_u64(blob.get(), IoStatsTemplate::size, i * i);
    }
    const Bytes whole = bytes_of(blob.get());
    std::mt19937 random(20261121);
    int refused = 0;
    for (int round = 0; round < 300; ++round) {
        Bytes bytes = whole;
        for (int i = 0; i < 3; ++i) {
            // Half of the changes are in the head and the slots, because these hold the offsets.
            const size_t end = random() % 2 == 0 ? 300 : bytes.size();
            bytes[random() % end] = static_cast<std::byte>(random());
        }
        if (random() % 4 == 0) bytes.resize(random() % bytes.size());
        refused += read_blob(bytes) ? 0 : 1;
    }
    EXPECT_GT(refused, 50);
    EXPECT_LT(refused, 300);
}

}  // namespace
}  // namespace blkscope::stats_command
