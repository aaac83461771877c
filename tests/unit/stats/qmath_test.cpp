// Q numbers against their manual's examples and against real numbers.
#include <gtest/gtest.h>
#include <sys/qmath.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>

#include "rounds.hpp"

namespace blkscope {

namespace {

template <class Q>
std::string text(Q q, int precision = -1, int base = 10) {
    char buffer[128];
    return Q_TOSTR(q, precision, base, buffer, sizeof buffer) != nullptr ? buffer : "(null)";
}

template <class Q>
class QmathTypes : public testing::Test {};
using Types = testing::Types<s8q_t, u8q_t, s16q_t, u16q_t, s32q_t, u32q_t, s64q_t, u64q_t>;
TYPED_TEST_SUITE(QmathTypes, Types);

TYPED_TEST(QmathTypes, CountTheirBitsAndKnowTheirLimits) {
    TypeParam q;
    Q_INI(&q, 3, 0, 2);
    EXPECT_EQ(text(q), "3.00");
    EXPECT_EQ(Q_NTBITS(q), sizeof q * 8);
    EXPECT_EQ(Q_NFBITS(q), 2u);
    EXPECT_EQ(Q_RPSHFT(q), 5u);
    EXPECT_EQ(Q_NIBITS(q), Q_NTBITS(q) - Q_SIGNED(q) - 5);
    EXPECT_EQ(Q_IMAXVAL(q), std::numeric_limits<TypeParam>::max() >> 5);
    EXPECT_EQ(Q_IMINVAL(q), Q_SIGNED(q) ? static_cast<TypeParam>(-Q_IMAXVAL(q)) : TypeParam{0});
}

TEST(Qmath, AFractionHasAsManyBitsAsItsControlBitsSayAndItsTypeHas) {
    const unsigned encoded[] = {2, 4, 6, 8, 16, 32, 48, 64};
    for (unsigned c = 0; c < 8; ++c) {
        EXPECT_EQ(Q_NFCBITS(static_cast<s64q_t>(c)), encoded[c]);
        EXPECT_EQ(Q_CTRLINI(static_cast<int>(encoded[c])), static_cast<int>(c));
    }
    s32q_t s32;
    Q_INI(&s32, 0, 0, 32);
    EXPECT_EQ(Q_NFBITS(s32), 28u);
    u64q_t u64;
    Q_INI(&u64, 0, 0, 64);
    EXPECT_EQ(Q_NFBITS(u64), 61u);
    s8q_t s8;
    Q_INI(&s8, 0, 0, 16);
    EXPECT_EQ(Q_NFBITS(s8), 4u);
}

TEST(Qmath, FiveThirdsAreAsInTheManual) {
    s32q_t q;
    Q_INI(&q, 0, 0, 8);
    EXPECT_EQ(Q_QFRACI(&q, 5, 3), 0);
    EXPECT_EQ(q, 0xd53);
    EXPECT_EQ(text(q), "1.66406250");
    EXPECT_EQ(text(q, 3), "1.664");
    EXPECT_EQ(text(q, 0), "1");
    EXPECT_EQ(text(q, -1, 16), "1.aa000000");
    EXPECT_EQ(text(q, -1, 2), "1.10101010");
}

TEST(Qmath, TheDebugTextIsTheManuals) {
    s32q_t s32;
    Q_INI(&s32, 0, 0, 8);
    ASSERT_EQ(Q_QFRACI(&s32, 5, 3), 0);
    char debug[1024];
    std::snprintf(debug, sizeof debug, Q_DEBUG(s32, "", "|", 0));
    const std::string after = std::string(debug).substr(std::string(debug).find('\n'));
    EXPECT_EQ(after,
              "\n\ttype=s32q_t, Qm.n=Q20.8, rpshft=11, imin=0xfff00001, imax=0xfffff\n"
              "\tqraw=0x00000d53\n"
              "\timask=0x7ffff800, fmask=0x000007f8, cmask=0x00000007, ifmask=0x7ffffff8\n"
              "\tiraw=0x00000800, iabsval=0x1, ival=0x1\n"
              "\tfraw=0x00000550, fabsval=0xaa, fval=0xaa|");
}

TEST(Qmath, NegativeNumbersAreASignAndAMagnitude) {
    s32q_t q;
    Q_INI(&q, -3, 25, 8);
    EXPECT_EQ(static_cast<uint32_t>(q), 0x80001a03u);
    EXPECT_EQ(text(q), "-3.25000000");
    EXPECT_EQ(Q_GIVAL(q), -3);
    EXPECT_TRUE(Q_LTZ(q));
    EXPECT_EQ(text(Q_QABS(q)), "3.25000000");
}

TEST(Qmath, ADecimalFractionIsItsDigitsWithLeadingZeros) {
    u32q_t q;
    Q_INI(&q, 0, 05, 16);
    EXPECT_NEAR(Q_Q2D(q), 0.05, 1.0 / 65536);
    Q_INI(&q, 0, 5, 16);
    EXPECT_EQ(Q_Q2D(q), 0.5);
}

TEST(Qmath, TheAreaOfACircleIsAsInTheManual) {
    u64q_t area;
    u64q_t pi;
    u64q_t radius;
    Q_INI(&area, 0, 0, 16);
    Q_INI(&pi, 3, 14159, 16);
    Q_INI(&radius, 4, 2, 16);
    EXPECT_EQ(Q_QCLONEQ(&area, radius), 0);
    EXPECT_EQ(Q_QMULQ(&area, radius), 0);
    EXPECT_EQ(Q_QMULQ(&area, pi), 0);
    EXPECT_EQ(text(area), "55.4174804687500000");
}

TEST(Qmath, AQuotientIsExactToItsLastBit) {
    s64q_t a;
    s64q_t b;
    Q_INI(&a, 7, 5, 16);
    Q_INI(&b, 2, 25, 16);
    EXPECT_EQ(Q_QDIVQ(&a, b), 0);
    EXPECT_NEAR(Q_Q2D(a), 7.5 / 2.25, 1.0 / 65536);
}

TEST(Qmath, ATextThatDoesNotFitIsEmpty) {
    s32q_t q;
    Q_INI(&q, -12, 5, 2);
    char buffer[8] = "x";
    EXPECT_EQ(Q_TOSTR(q, -1, 10, buffer, 6), nullptr);
    EXPECT_STREQ(buffer, "");
    EXPECT_EQ(Q_TOSTR(q, -1, 10, buffer, 7), buffer + 6);
    EXPECT_STREQ(buffer, "-12.50");
    EXPECT_EQ(Q_TOSTR(q, 1, 10, buffer, 0), nullptr);
}

TEST(Qmath, WhatDoesNotFitIsRefusedAndChangesNothing) {
    s8q_t q;
    Q_INI(&q, 3, 0, 2);
    const s8q_t before = q;
    EXPECT_EQ(Q_QADDI(&q, 1), EOVERFLOW);
    EXPECT_EQ(Q_QMULI(&q, 2), EOVERFLOW);
    EXPECT_EQ(Q_QSUBI(&q, 300), EOVERFLOW);
    EXPECT_EQ(Q_QCPYVALI(&q, 4), EOVERFLOW);
    EXPECT_EQ(Q_QDIVI(&q, 0), EINVAL);
    EXPECT_EQ(Q_QFRACI(&q, 1, 0), EINVAL);
    EXPECT_EQ(q, before);
    s8q_t finer;
    Q_INI(&finer, 0, 5, 4);
    EXPECT_EQ(Q_QADDQ(&q, finer), ERANGE);
    EXPECT_EQ(q, before);
}

// For programs that name FreeBSD's general forms.
TEST(Qmath, TheGeneralFormsTakeTheirOperatorAsAnArgument) {
    s32q_t a;
    s32q_t b;
    Q_INI(&a, -1, 5, 8);
    Q_INI(&b, -1, 25, 8);
    EXPECT_TRUE(Q_QCMPQ(a, b, <, <));
    EXPECT_TRUE(Q_QCMPQ(a, b, <, <=));
    EXPECT_FALSE(Q_QCMPQ(a, b, >, >=));
    EXPECT_FALSE(Q_QCMPQ(a, a, <, <));
    EXPECT_TRUE(Q_QCMPQ(a, a, <, <=));
    EXPECT_TRUE(Q_QCMPQ(a, a, ==, ==));
    EXPECT_FALSE(Q_QCMPQ(a, b, ==, ==));  // the integer parts are equal
    EXPECT_TRUE(Q_QCMPQ(a, b, !=, !=));
    EXPECT_EQ(Q_QADDSUBQ(&a, b, '+'), 0);  // the magnitude of b
    EXPECT_EQ(Q_Q2D(a), -0.25);
    EXPECT_EQ(Q_QADDSUBQ(&a, b, '-'), 0);
    EXPECT_EQ(Q_Q2D(a), -1.5);
    EXPECT_EQ(Q_QADDSUBI(&a, -3, '+'), 0);
    EXPECT_EQ(Q_Q2D(a), 1.5);
    EXPECT_EQ(Q_QADDSUBI(&a, 3, '-'), 0);
    EXPECT_EQ(Q_Q2D(a), -1.5);
    EXPECT_EQ(Q_QADDSUBI(&a, 1 << 20, '-'), EOVERFLOW);
    EXPECT_EQ(Q_Q2D(a), -1.5);
}

TEST(Qmath, UnsignedNumbersTakeNothingNegative) {
    u32q_t q;
    s32q_t minus;
    Q_INI(&q, 3, 0, 8);
    Q_INI(&minus, -1, 0, 8);
    const u32q_t before = q;
    EXPECT_EQ(Q_QMULQ(&q, minus), EINVAL);
    EXPECT_EQ(Q_QDIVQ(&q, minus), EINVAL);
    EXPECT_EQ(Q_QDIVI(&q, -1), EINVAL);
    EXPECT_EQ(Q_QSUBI(&q, 4), EOVERFLOW);
    EXPECT_EQ(Q_QCPYVALQ(&q, minus), EOVERFLOW);
    EXPECT_EQ(q, before);
}

TEST(Qmath, AResultTooSmallIsZeroAndSaysSo) {
    s32q_t q;
    Q_INI(&q, 0, 25, 2);
    EXPECT_EQ(Q_QDIVI(&q, 2), ERANGE);
    EXPECT_EQ(Q_GIFABSVAL(q), 0);
    EXPECT_EQ(Q_NFBITS(q), 2u);
    EXPECT_EQ(Q_QFRACI(&q, 1, 100), ERANGE);
}

TEST(Qmath, ACopyKeepsTheValueOrIsRefused) {
    s32q_t coarse;
    s64q_t fine;
    Q_INI(&coarse, 1, 5, 2);
    Q_INI(&fine, 0, 0, 16);
    EXPECT_EQ(Q_QCPYVALQ(&fine, coarse), 0);
    EXPECT_EQ(Q_Q2D(fine), 1.5);
    EXPECT_EQ(Q_NFBITS(fine), 16u);
    Q_INI(&fine, 1, 125, 16);
    EXPECT_EQ(Q_QCPYVALQ(&coarse, fine), EOVERFLOW);
    EXPECT_EQ(Q_QCANREPQ(fine, coarse), EOVERFLOW);
    EXPECT_EQ(Q_QCANREPI(coarse, 1 << 20), 0);
    EXPECT_EQ(Q_QCANREPI(coarse, INT64_C(1) << 40), EOVERFLOW);
    EXPECT_EQ(Q_QMAXQ(coarse, coarse), coarse);
    EXPECT_TRUE(Q_QLTQ(fine, coarse));
}

// A random number in all its bits, of one precision.
template <class Q>
Q random_number(std::mt19937_64& random, unsigned control) {
    Q q = static_cast<Q>(random() >> (random() % 64));
    Q_SCVAL(q, control);
    return q;
}

// Holds the exact result of each operation on two numbers of 64 bits.
__extension__ using Exact = __int128;

// `exact` is the result in units of the last bit of `q`, cut off towards zero. A result that is too
// small for that bit is 0, with ERANGE.
template <class Q>
void check_operation(Q q, int error, Q result, Exact exact) {
    const auto max = static_cast<Exact>(Q_IFMAXVAL(q));
    const bool fits = exact <= max && (Q_SIGNED(q) ? exact >= -max : exact >= 0);
    if (error == 0) {
        EXPECT_TRUE(static_cast<Exact>(Q_GIFVAL(result)) == exact);
    } else if (error == ERANGE) {
        EXPECT_TRUE(exact == 0);
    } else {
        EXPECT_FALSE(fits) << "error " << error;
        EXPECT_EQ(result, q);
    }
}

template <class Q>
class QmathProperty : public testing::Test {};
TYPED_TEST_SUITE(QmathProperty, Types);

TYPED_TEST(QmathProperty, OperationsAreThoseOfRealNumbersCutOffTowardsZero) {
    std::mt19937_64 random(20261121);
    for (int i = 0; i < rounds(20'000); ++i) {
        const auto control = static_cast<unsigned>(random() % 8);
        const auto a = random_number<TypeParam>(random, control);
        const auto b = random_number<TypeParam>(random, control);
        const auto x = static_cast<Exact>(Q_GIFVAL(a));
        const auto y = static_cast<Exact>(Q_GIFVAL(b));
        const Exact one = Exact{1} << Q_NFBITS(a);
        TypeParam r = a;
        int error = Q_QADDQ(&r, b);
        check_operation(a, error, r, x + y);
        r = a;
        error = Q_QSUBQ(&r, b);
        check_operation(a, error, r, x - y);
        r = a;
        error = Q_QMULQ(&r, b);
        check_operation(a, error, r, x * y / one);
        if (y == 0) continue;
        r = a;
        error = Q_QDIVQ(&r, b);
        check_operation(a, error, r, x * one / y);
    }
}

TYPED_TEST(QmathProperty, IntegersAreRealNumbersToo) {
    std::mt19937_64 random(20261123);
    for (int i = 0; i < rounds(20'000); ++i) {
        const auto a = random_number<TypeParam>(random, static_cast<unsigned>(random() % 8));
        auto n = static_cast<int64_t>(random()) >> (2 + random() % 62);
        if (!Q_SIGNED(a) && n < 0) n = -n;  // see UnsignedNumbersTakeNothingNegative
        const auto x = static_cast<Exact>(Q_GIFVAL(a));
        const Exact one = Exact{1} << Q_NFBITS(a);
        TypeParam r = a;
        int error = Q_QADDI(&r, n);
        check_operation(a, error, r, x + n * one);
        r = a;
        error = Q_QSUBI(&r, n);
        check_operation(a, error, r, x - n * one);
        r = a;
        error = Q_QMULI(&r, n);
        check_operation(a, error, r, x * n);
        r = a;
        error = Q_QCPYVALI(&r, n);
        check_operation(a, error, r, n * one);
        if (n == 0) continue;
        r = a;
        error = Q_QDIVI(&r, n);
        check_operation(a, error, r, x / n);
        r = a;
        error = Q_QFRACI(&r, int64_t{7}, n);
        check_operation(a, error, r, 7 * one / n);
    }
}

// From each format to each format of eight types: the value stays, or the copy is refused.
TYPED_TEST(QmathProperty, ACopyHasTheSameValueInAnyFormat) {
    std::mt19937_64 random(20261123);
    for (int i = 0; i < rounds(20'000); ++i) {
        const auto from = random_number<TypeParam>(random, static_cast<unsigned>(random() % 8));
        const auto to = random_number<s64q_t>(random, static_cast<unsigned>(random() % 8));
        s64q_t copy = to;
        const int error = Q_QCPYVALQ(&copy, from);
        const Exact scaled = static_cast<Exact>(Q_GIFVAL(from)) << Q_NFBITS(to);
        const Exact exact = scaled >> Q_NFBITS(from);
        const bool is_whole = exact << Q_NFBITS(from) == scaled;
        if (error == 0) {
            EXPECT_TRUE(is_whole && static_cast<Exact>(Q_GIFVAL(copy)) == exact);
            EXPECT_EQ(Q_NFBITS(copy), Q_NFBITS(to));
        } else {
            const auto max = static_cast<Exact>(Q_IFMAXVAL(to));
            EXPECT_TRUE(!is_whole || exact > max || exact < -max) << "error " << error;
            EXPECT_EQ(copy, to);
        }
    }
}

// Each bit of a fraction is a digit of its text.
TYPED_TEST(QmathProperty, ATextHasEveryDigitOfTheNumber) {
    std::mt19937_64 random(20261123);
    for (int i = 0; i < rounds(20'000); ++i) {
        const auto q = random_number<TypeParam>(random, static_cast<unsigned>(random() % 8));
        const auto value = static_cast<Exact>(Q_GIFVAL(q));
        const auto magnitude = static_cast<uint64_t>(value < 0 ? -value : value);
        std::string expected =
            (Q_LTZ(q) ? "-" : "") + std::to_string(magnitude >> Q_NFBITS(q)) + ".";
        Exact rest = static_cast<Exact>(magnitude) & ((Exact{1} << Q_NFBITS(q)) - 1);
        for (unsigned digit = 0; digit < Q_NFBITS(q); ++digit) {
            rest *= 10;
            expected += static_cast<char>('0' + static_cast<int>(rest >> Q_NFBITS(q)));
            rest &= (Exact{1} << Q_NFBITS(q)) - 1;
        }
        ASSERT_EQ(text(q), expected);
    }
}

}  // namespace

}  // namespace blkscope
