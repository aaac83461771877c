// Times, sizes and numbers as text.
#include "blockdev/model/grammar.hpp"

#include <gtest/gtest.h>

#include "../../failure.hpp"

namespace blkscope::model {
namespace {

TEST(ModelGrammar, ATimeIsExactToThePicosecond) {
    EXPECT_EQ(parse_time("1.5ms").ps, 1'500'000'000);
    EXPECT_EQ(parse_time("0.001ns").ps, 1);
    EXPECT_EQ(parse_time("0s").ps, 0);
    EXPECT_EQ(parse_time("86400s").ps, Time::max_ps);
    EXPECT_EQ(parse_time("2us").ns(), 2000.0);
}

TEST(ModelGrammar, ATimePrintsInItsLargestUnitAndParsesBack) {
    for (const char* text : {"1.5ms", "0ns", "0.001ns", "999.999ns", "1us", "16.94ms", "86400s",
                             "1.000000000001s", "100us"}) {
        EXPECT_EQ(text_of(parse_time(text)), text);
    }
    EXPECT_EQ(text_of(parse_time("1500us")), "1.5ms");
    EXPECT_EQ(text_of(parse_time("0.5s")), "500ms");
    EXPECT_EQ(text_of(parse_time("1.0s")), "1s");
}

TEST(ModelGrammar, ABadTimeIsNamedWithItsFault) {
    const auto failure = [](const char* text) {
        return failure_of([&] { return parse_time(text); });
    };
    EXPECT_EQ(failure("-1ms"), "time '-1ms' is negative");
    EXPECT_EQ(failure("5"), "time '5' has no unit: ns, us, ms or s");
    EXPECT_EQ(failure("5h"), "time '5h' has an unknown unit: not ns, us, ms or s");
    EXPECT_EQ(failure(""), "time '' is no number");
    EXPECT_EQ(failure("ms"), "time 'ms' is no number");
    EXPECT_EQ(failure("1.ms"), "time '1.ms' is no number");
    EXPECT_EQ(failure(".5ms"), "time '.5ms' is no number");
    EXPECT_EQ(failure("1.2.3ms"), "time '1.2.3ms' is no number");
    EXPECT_EQ(failure("0.0001ns"), "time '0.0001ns' is finer than a picosecond");
    EXPECT_EQ(failure("86401s"), "time '86401s' is longer than a day");
    EXPECT_EQ(failure("99999999999999999999s"),
              "time '99999999999999999999s' is longer than a day");
}

TEST(ModelGrammar, SizesPrintWithTheLargestUnitThatDividesThem) {
    EXPECT_EQ(parse_bytes("256K", "unit"), 262'144U);
    EXPECT_EQ(text_of_bytes(262'144), "256K");
    EXPECT_EQ(text_of_bytes(1000), "1000");
    EXPECT_EQ(text_of_bytes(uint64_t{5} << 40), "5T");
    EXPECT_EQ(failure_of([] { return parse_bytes("-1", "unit"); }),
              "unit '-1' is no positive number, with or without K, M, G or T");
}

TEST(ModelGrammar, NumbersAreReadWholeOrRefused) {
    EXPECT_EQ(parse_count("7", "K"), 7U);
    EXPECT_EQ(parse_positive("1.5", "ALPHA"), 1.5);
    EXPECT_EQ(text_of(1.5), "1.5");
    EXPECT_EQ(failure_of([] { return parse_count("7x", "K"); }), "K '7x' is no whole number");
    EXPECT_EQ(failure_of([] { return parse_count("0", "K", 1); }), "K '0' is less than 1");
    EXPECT_EQ(failure_of([] { return parse_positive("nan", "ALPHA"); }),
              "ALPHA 'nan' is no number");
    EXPECT_EQ(failure_of([] { return parse_positive("-2", "ALPHA"); }), "ALPHA '-2' is negative");
    EXPECT_EQ(failure_of([] { return parse_positive("0", "ALPHA"); }),
              "ALPHA '0' is not above zero");
}

}  // namespace
}  // namespace blkscope::model
