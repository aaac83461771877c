#include "devstat/entries/bintime.hpp"

#include <gtest/gtest.h>

#include <random>

namespace blkscope {
namespace {

constexpr hrtime_t second = 1'000'000'000;

TEST(Bintime, CutToNanosecondsIsWhatItWasMadeOf) {
    std::mt19937_64 random(20261121);
    std::uniform_int_distribution<hrtime_t> any(-10 * second, 1'000'000 * second);
    for (int i = 0; i < 100'000; ++i) {
        const hrtime_t ns = any(random);
        ASSERT_EQ(devstat::ns_of(devstat::bintime_of(ns)), ns);
    }
    for (const hrtime_t ns :
         {hrtime_t{0}, hrtime_t{1}, second - 1, second, -second, hrtime_t{-1}}) {
        ASSERT_EQ(devstat::ns_of(devstat::bintime_of(ns)), ns);
    }
}

TEST(Bintime, HalfASecondIsHalfOfTheFraction) {
    const bintime half = devstat::bintime_of(3 * second / 2);
    EXPECT_EQ(half.sec, 1);
    EXPECT_EQ(half.frac, uint64_t{1} << 63);
}

TEST(Bintime, SumAndDifferenceCarry) {
    const bintime a = devstat::bintime_of(1'900'000'000);
    const bintime b = devstat::bintime_of(2'200'000'000);
    EXPECT_EQ(devstat::ns_of(devstat::sum(a, b)), 4'100'000'000);
    EXPECT_EQ(devstat::ns_of(devstat::difference(b, a)), 300'000'000);
    EXPECT_EQ(devstat::difference(a, b).sec, -1);
    const bintime again = devstat::sum(devstat::difference(a, b), b);
    EXPECT_EQ(again.sec, a.sec);
    EXPECT_EQ(again.frac, a.frac);
}

}  // namespace
}  // namespace blkscope
