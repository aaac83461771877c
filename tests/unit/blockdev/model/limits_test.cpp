// The grammar of --limit, and token buckets in virtual time.
#include "blockdev/model/limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "../../failure.hpp"
#include "blockdev/model/draws.hpp"

namespace blkscope::model {
namespace {

using Name = LimitSpec::Name;

constexpr hrtime_t second = 1'000'000'000;

struct Limited : Buf {
    explicit Limited(Op what = Op::read, uint64_t bytes = 4096) {
        op = what;
        bcount = bytes;
    }
};

// Operations as bits.
constexpr unsigned every = (1U << Buf::op_count) - 1;
constexpr unsigned bit(Buf::Op op) {
    return 1U << static_cast<unsigned>(op);
}

// The moments at which requests of a client that always has one more start.
std::vector<hrtime_t> starts(Limits& limits, const Buf& buf, hrtime_t now, hrtime_t end) {
    std::vector<hrtime_t> moments;
    while (now < end) {
        limits.begin(now);
        if (limits.admit(buf)) {
            moments.push_back(now);
        } else {
            EXPECT_GT(*limits.again_at(), now);
            now = *limits.again_at();
        }
    }
    return moments;
}

TEST(Limits, GoOnWhereOthersAre) {
    const LimitSpec spec = LimitSpec::parse("iops=1000,bps=1M:8M:100:50");
    Limits earlier(spec, 0);
    for (int i = 0; i < 5; ++i) {
        earlier.begin(i);
        EXPECT_TRUE(earlier.admit(Limited()) || i > 0);
    }
    trace::ModelState state;
    earlier.add_to(state, 5);
    EXPECT_EQ(state.tokens.size(), 2U);
    Limits later(spec, 1000);
    later.go_on_from(state, 1000);
    for (const Name name : {Name::iops, Name::bps}) {
        EXPECT_EQ(later.level(name, 1000), earlier.level(name, 5));
    }
    state.tokens = {{"iops", INT64_MAX}, {"read_iops", 3}};
    later.go_on_from(state, 1000);
    EXPECT_EQ(later.level(Name::iops, 1000), 10);  // full
    state.tokens = {{"iops", INT64_MIN}};
    later.go_on_from(state, 1000);
    EXPECT_EQ(later.level(Name::iops, 1000), -86'400'000);  // a day's
}

TEST(LimitSpec, ParsesBackWhatItPrints) {
    for (const char* text :
         {"iops=1000", "bps=100M,unit=256K", "iops=100:3000:5400000", "iops=100:3000:5400000:27000",
          "iops=100:3000:5400000:0", "read_iops=1,read_bps=2,write_iops=3,write_bps=4",
          "bps=1M:10M:1G:512M"}) {
        EXPECT_EQ(LimitSpec::parse(text).text(), text);
        EXPECT_EQ(LimitSpec::parse(LimitSpec::parse(text).text()), LimitSpec::parse(text));
    }
    EXPECT_EQ(LimitSpec::parse("unit=1024,bps=1048576,iops=9").text(), "iops=9,bps=1M,unit=1K");
}

TEST(LimitSpec, KnowsTheVolumesOfTheCloud) {
    const auto text = [](const char* preset) { return LimitSpec::parse(preset).text(); };
    EXPECT_EQ(text("gp2:100G"), "iops=300:3000:5400000,bps=128M,unit=256K");
    EXPECT_EQ(text("gp2:1G"), "iops=100:3000:5400000,bps=128M,unit=256K");
    EXPECT_EQ(text("gp2:170G"), "iops=510:3000:5400000,bps=128M,unit=256K");
    EXPECT_EQ(text("gp2:171G"), "iops=513:3000:5400000,bps=250M,unit=256K");
    EXPECT_EQ(text("gp2:1000G"), "iops=3000,bps=250M,unit=256K");
    EXPECT_EQ(text("gp2:16T"), "iops=16000,bps=250M,unit=256K");
    EXPECT_EQ(text("gp3"), "iops=3000,bps=125M,unit=256K");
    EXPECT_EQ(text("gp3:6000:500"), "iops=6000,bps=500M,unit=256K");
    EXPECT_EQ(text("gp2:100G,iops=300:3000:5400000:27000"),
              "iops=300:3000:5400000:27000,bps=128M,unit=256K");
}

TEST(LimitSpec, ABadTextIsRefusedInOneLine) {
    const auto failure = [](std::string_view text) {
        return failure_of([&] { return LimitSpec::parse(text); });
    };
    EXPECT_EQ(failure("iops=0"), "limit 'iops=0': item 'iops=0': BASE '0' is less than 1");
    EXPECT_EQ(failure("iops=-5"), "limit 'iops=-5': item 'iops=-5': BASE '-5' is negative");
    EXPECT_EQ(failure("iops=5:6"),
              "limit 'iops=5:6': item 'iops=5:6': not of the form BASE[:PEAK:CREDITS[:INITIAL]]");
    EXPECT_EQ(failure("iops=5:4:100"),
              "limit 'iops=5:4:100': item 'iops=5:4:100': PEAK is less than BASE");
    EXPECT_EQ(failure("iops=5:6:100:101"),
              "limit 'iops=5:6:100:101': item 'iops=5:6:100:101': INITIAL is more than CREDITS");
    EXPECT_EQ(failure("bps=8E"),
              "limit 'bps=8E': item 'bps=8E': BASE '8E' is no positive number, with or without K, "
              "M, G or T");
    EXPECT_EQ(failure("iops=99999999999999999"),
              "limit 'iops=99999999999999999': item 'iops=99999999999999999': BASE "
              "'99999999999999999' is too large");
    EXPECT_EQ(failure("unit=4K"), "limit 'unit=4K': there is no rate");
    EXPECT_EQ(failure("gp2"), "limit 'gp2': gp2 is not of the form gp2:SIZE");
    EXPECT_EQ(failure("gp3:1"), "limit 'gp3:1': not of the form gp3[:IOPS:MBPS]");
    EXPECT_EQ(failure("speed=4"),
              "limit 'speed=4': item 'speed=4' is no iops=, bps=, read_iops=, read_bps=, "
              "write_iops=, write_bps=, unit=, gp2:SIZE or gp3");
}

TEST(TokenBucket, HoldsTenMillisecondsOfItsRate) {
    EXPECT_EQ(TokenBucket({.base = 1000}, 0).level(0), 10);
    EXPECT_EQ(TokenBucket({.base = 10}, 0).level(0), 1);  // at least one
    TokenBucket bucket({.base = 1000}, 0);
    bucket.take(10, 0);
    EXPECT_EQ(bucket.level(5'000'000), 5);
    EXPECT_EQ(bucket.level(second), 10);
}

TEST(TokenBucket, ARequestLargerThanTheBucketLeavesADebt) {
    TokenBucket bucket({.base = 1000}, 0);
    EXPECT_EQ(bucket.ready_at(0), 0);
    bucket.take(1010, 0);
    EXPECT_EQ(bucket.level(0), -1000);
    EXPECT_EQ(bucket.ready_at(0), second + 1);  // above zero: a billionth of a token more
    EXPECT_EQ(bucket.level(second + 1), 0);
}

// For any costs, the tokens taken are within one bucket and one request of the rate.
TEST(TokenBucket, KeepsItsRateToTheToken) {
    for (const uint64_t rate : {uint64_t{1}, uint64_t{7}, uint64_t{3000}, uint64_t{134'217'728}}) {
        TokenBucket bucket({.base = rate}, 0);
        hrtime_t now = 0;
        uint64_t taken = 0;
        uint64_t last = 0;
        for (uint64_t n = 0; n < 1000; ++n) {
            now = bucket.ready_at(now);
            last = 1 + Draws(rate, 0, n).below(rate / 4 + 1);
            bucket.take(last, now);
            taken += last;
        }
        const double allowed = static_cast<double>(rate) * static_cast<double>(now) / 1e9;
        const double full = std::max(static_cast<double>(rate) / 100, 1.0);
        EXPECT_LE(static_cast<double>(taken - last), allowed + full + 1);
        EXPECT_GE(static_cast<double>(taken), allowed - 1);
    }
}

// Ten seconds of bursts with 27,000 credits, as a volume of 100 GiB in its last seconds.
TEST(Limits, CreditsEndWhenArithmeticSays) {
    Limits limits(LimitSpec::parse("iops=300:3000:5400000:27000"), 0);
    const auto moments = starts(limits, Limited(), 0, 20 * second);
    const auto at = [](hrtime_t moment) {
        return [moment](hrtime_t each) { return each < moment; };
    };
    const auto burst = std::count_if(moments.begin(), moments.end(), at(10 * second));
    EXPECT_NEAR(static_cast<double>(burst), 30'000, 300);
    EXPECT_NEAR(static_cast<double>(moments.size()) - static_cast<double>(burst), 3000, 30);
}

// gp2 of 100 GiB: 5.4 million credits, of which 2,700 are spent in a second. Under a sanitizer a tenth.
TEST(Limits, AVolumeOf100GBurstsFor2000Seconds) {
    const std::string spec = BLKSCOPE_SANITIZED ? "iops=300:3000:540000" : "gp2:100G";
    const double expected = BLKSCOPE_SANITIZED ? 200 : 2000;
    Limits limits(LimitSpec::parse(spec), 0);
    const Limited request;
    hrtime_t now = 0;
    hrtime_t end_of_burst = 0;
    hrtime_t last = 0;
    while (end_of_burst == 0) {
        limits.begin(now);
        if (limits.admit(request)) {
            // Between two starts at BASE is 1/300 s, at PEAK 1/3000 s.
            if (now - last > second / 1000) end_of_burst = last;
            last = now;
        } else {
            now = *limits.again_at();
        }
    }
    EXPECT_NEAR(static_cast<double>(end_of_burst) / second, expected, expected / 100);
}

TEST(Limits, UnusedCreditsComeBackAtBase) {
    Limits limits(LimitSpec::parse("iops=300:3000:5400:0"), 0);
    EXPECT_EQ(limits.level(Name::iops, 0), 0);
    EXPECT_EQ(limits.level(Name::iops, 10 * second), 3000);
    EXPECT_EQ(limits.level(Name::iops, 100 * second), 5400);
}

TEST(Limits, ARequestPaysItsUnitsAndItsBytes) {
    Limits limits(LimitSpec::parse("iops=1000,bps=100M,unit=256K"), 0);
    limits.begin(0);
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::read, 256 << 10)));
    EXPECT_EQ(limits.level(Name::iops, 0), 9);
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::write, (256 << 10) + 1)));
    EXPECT_EQ(limits.level(Name::iops, 0), 7);
    EXPECT_EQ(limits.level(Name::bps, 0), (1 << 20) - 2 * (256 << 10) - 1);
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::trim, 1 << 30)));
    EXPECT_EQ(limits.level(Name::iops, 0), 6);
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::block_status, 1 << 30)));
    EXPECT_EQ(limits.level(Name::iops, 0), 6);
}

TEST(Limits, NothingPassesThatNeedsTheSameBucket) {
    Limits limits(LimitSpec::parse("read_bps=1M,write_iops=10"), 0);
    limits.begin(0);
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::read, 1 << 20)));
    EXPECT_FALSE(limits.admit(Limited(Buf::Op::read, 512)));
    EXPECT_FALSE(limits.admit(Limited(Buf::Op::read, 0)));  // behind the one that waits
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::write, 512)));
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::cache)));
    EXPECT_FALSE(limits.admit(Limited(Buf::Op::flush, 0)));
    EXPECT_EQ(limits.barred(), every & ~bit(Buf::Op::cache) & ~bit(Buf::Op::block_status));
    // The flush waits for 1 ns, because one write has emptied its bucket exactly.
    EXPECT_EQ(limits.again_at(), 1);
    limits.begin(*limits.again_at());
    EXPECT_FALSE(limits.admit(Limited(Buf::Op::read, 512)));
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::flush, 0)));
}

// The write lacks bytes for a second, and operations for a short time. A trim needs no bytes.
TEST(Limits, ARequestBehindOneThatLacksMoreIsAskedWhenItsOwnBucketHasTokens) {
    Limits limits(LimitSpec::parse("iops=100,write_bps=1M"), 0);
    limits.begin(0);
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::write, 1 << 20)));
    EXPECT_FALSE(limits.admit(Limited(Buf::Op::write, 512)));
    EXPECT_FALSE(limits.admit(Limited(Buf::Op::trim)));
    EXPECT_EQ(limits.again_at(), 1);
    limits.begin(1);
    EXPECT_FALSE(limits.admit(Limited(Buf::Op::write, 512)));
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::trim)));
    EXPECT_GT(*limits.again_at(), second / 2);
}

TEST(Limits, OneForAllOperationsEndsAPass) {
    Limits limits(LimitSpec::parse("iops=1"), 0);
    limits.begin(0);
    EXPECT_TRUE(limits.admit(Limited()));
    EXPECT_EQ(limits.barred(), 0);
    EXPECT_FALSE(limits.admit(Limited()));
    EXPECT_EQ(limits.barred(), every & ~bit(Buf::Op::block_status));
}

// From the refusal until the bucket has tokens or the request starts, whichever is first.
TEST(Limits, ExceededTimeIsTheTimeInWhichTheFirstRequestLackedTheBucket) {
    Limits limits(LimitSpec::parse("bps=1M"), 0);
    const Limited request(Buf::Op::read, 1 << 20);
    limits.begin(0);
    EXPECT_TRUE(limits.admit(request));
    EXPECT_EQ(limits.exceeded_ns(Name::bps, second / 4), 0U);  // nothing waits
    limits.begin(second / 4);
    EXPECT_FALSE(limits.admit(request));
    const hrtime_t ready = *limits.again_at();
    EXPECT_NEAR(static_cast<double>(ready), 0.99 * second, 1000);
    EXPECT_EQ(limits.exceeded_ns(Name::bps, second / 2), uint64_t{second / 4});
    limits.begin(2 * second);  // the caller came late
    EXPECT_TRUE(limits.admit(request));
    EXPECT_EQ(limits.exceeded_ns(Name::bps, 3 * second), static_cast<uint64_t>(ready - second / 4));
}

// A client that always has a request exceeds the limit whenever the bucket is empty.
TEST(Limits, ExceededTimeIsAllOfTheTimeBetweenTheStarts) {
    Limits limits(LimitSpec::parse("iops=100"), 0);
    const auto moments = starts(limits, Limited(), 0, 10 * second);
    EXPECT_EQ(limits.exceeded_ns(Name::iops, moments.back()),
              static_cast<uint64_t>(moments.back()));
}

// Two buckets that are empty at the same time make the client wait once.
TEST(Limits, TheTimeOfAllBucketsCountsEachMomentOnce) {
    Limits limits(LimitSpec::parse("iops=1,bps=1M,unit=1M"), 0);
    const Limited request(Buf::Op::read, 2 << 20);
    limits.begin(0);
    EXPECT_TRUE(limits.admit(request));
    EXPECT_FALSE(limits.admit(request));
    EXPECT_EQ(limits.exceeded_ns(second / 2), uint64_t{second / 2});
    limits.begin(second / 2);
    EXPECT_FALSE(limits.admit(request));
    limits.begin(*limits.again_at());
    EXPECT_FALSE(limits.admit(request));  // the other bucket lacks tokens for longer
    const hrtime_t ready = *limits.again_at();
    limits.begin(ready);
    EXPECT_TRUE(limits.admit(request));
    EXPECT_GT(limits.exceeded_ns(Name::iops, ready), uint64_t{second / 2});
    EXPECT_EQ(limits.exceeded_ns(ready), static_cast<uint64_t>(ready));
    EXPECT_EQ(limits.exceeded_ns(Name::bps, ready), static_cast<uint64_t>(ready));
}

// New requests are asked in the same pass, and a lacking bucket keeps its moments.
TEST(Limits, APassGoesOnUntilABucketHasTokensAgain) {
    Limits limits(LimitSpec::parse("read_iops=1,write_iops=10"), 0);
    limits.begin(0);
    EXPECT_FALSE(limits.again_at());
    EXPECT_TRUE(limits.admit(Limited()));
    limits.begin(1);
    EXPECT_TRUE(limits.admit(Limited()));
    EXPECT_FALSE(limits.admit(Limited()));
    const hrtime_t ready = *limits.again_at();
    limits.go_on(second / 2);
    EXPECT_FALSE(limits.admit(Limited()));
    EXPECT_TRUE(limits.admit(Limited(Buf::Op::write)));
    EXPECT_EQ(limits.again_at(), ready);
    EXPECT_EQ(limits.exceeded_ns(ready), static_cast<uint64_t>(ready - 1));
    limits.begin(ready);
    EXPECT_FALSE(limits.again_at());
    EXPECT_TRUE(limits.admit(Limited()));
}

// A pass that comes late does not make the request late.
TEST(Limits, KnowsSinceWhenTheTokensWereThere) {
    Limits limits(LimitSpec::parse("iops=100"), 0);
    const Limited read;
    EXPECT_TRUE(limits.admit(read));  // the bucket held one
    limits.begin(1);
    EXPECT_TRUE(limits.admit(read));  // on credit
    EXPECT_FALSE(limits.admit(read));
    const hrtime_t ready = *limits.again_at();
    EXPECT_GT(ready, second / 100 - 10);
    limits.begin(ready + 12'345);
    ASSERT_TRUE(limits.admit(read));
    EXPECT_EQ(limits.admitted_since(), ready);
}

}  // namespace
}  // namespace blkscope::model
