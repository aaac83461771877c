// The grammar of --fault, and which requests rules strike.
#include "blockdev/model/fault_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <vector>

#include "../../failure.hpp"

namespace blkscope::model {
namespace {

constexpr uint64_t size_bytes = uint64_t{1} << 20;  // 2048 sectors

struct Faulted : Buf {
    explicit Faulted(Op what = Op::read, uint64_t at = 0, uint64_t bytes = 4096) {
        op = what;
        offset = at;
        bcount = bytes;
    }
};

Histogram nothing_measured(const std::string&) {
    return {{{1000, 2000, 1}}};
}

FaultRule rule_of(std::string_view text) {
    return FaultRule::parse(text, size_bytes, nothing_measured);
}

// The numbers of the requests, from 1, that the rule strikes.
std::vector<int> struck(std::string_view rule, int count, uint64_t seed = 1) {
    FaultRules rules(seed);
    rules.add(rule_of(rule), 0);
    std::vector<int> numbers;
    for (int i = 1; i <= count; ++i) {
        if (rules.strike(Faulted(), 0)) numbers.push_back(i);
    }
    return numbers;
}

TEST(FaultRule, ParsesBackWhatItPrints) {
    for (const char* text :
         {"read:error=EIO;sectors=1024-2047;chance=1/100;after=1000;count=5",
          "write:delay=lognormal:1ms:10ms;every=10", "all:hang", "flush:hang=10s",
          "write:drop;for=5s", "read:corrupt", "all:corrupt=16", "write:torn;counted",
          "zeroes:disconnect;count=1", "flush:error=ENOTSUP;counted;sticky", "trim:error=EBUSY",
          "read:delay=empirical:/tmp/a;b:c"}) {
        EXPECT_EQ(rule_of(text).text(), text);
    }
    EXPECT_EQ(rule_of("read:error=EIO;count=5;after=1;chance=1/1;every=1").text(),
              "read:error=EIO;after=1;count=5");
}

TEST(FaultRule, SaysWhichErrorsClientsSeeDifferently) {
    EXPECT_EQ(rule_of("read:error=EBUSY").warning(), "clients see EBUSY as EIO");
    EXPECT_EQ(rule_of("read:error=EOPNOTSUPP").warning(), "");
    EXPECT_EQ(rule_of("read:error=ENOSPC").warning(), "");
    EXPECT_EQ(rule_of("read:hang").warning(), "");
    EXPECT_NE(rule_of("read:delay=pareto:1ms:1.5").warning(), "");
}

TEST(FaultRule, ABadTextIsRefusedInOneLine) {
    const auto failure = [](std::string_view text) {
        return failure_of([&] { return rule_of(text); });
    };
    EXPECT_EQ(failure("read"), "fault 'read': not of the form op:kind");
    EXPECT_EQ(
        failure("reed:drop"),
        "fault 'reed:drop': unknown operation 'reed': not read, write, flush, trim, zeroes or "
        "all");
    EXPECT_EQ(failure("cache:drop"),
              "fault 'cache:drop': unknown operation 'cache': not read, write, flush, trim, zeroes "
              "or all");
    EXPECT_EQ(failure("read:explode"),
              "fault 'read:explode': unknown kind 'explode': not error=ERRNO, delay=DIST, "
              "hang[=TIME], drop, corrupt[=BYTES], torn or disconnect");
    EXPECT_EQ(
        failure("read:error=EWRONG"),
        "fault 'read:error=EWRONG': unknown error 'EWRONG': not one of EPERM, EIO, "
        "ENOMEM, EINVAL, ENOSPC, EOVERFLOW, ENOTSUP, ESHUTDOWN, nor of the names of errno(3) that "
        "a client sees as EIO");
    EXPECT_EQ(failure("read:hang;when=1"),
              "fault 'read:hang;when=1': unknown condition 'when=1': not sectors=A-B, chance=1/N, "
              "after=N, count=N, every=N, for=TIME, counted or sticky");
    EXPECT_EQ(failure("read:delay=const:-1ms"),
              "fault 'read:delay=const:-1ms': distribution 'const:-1ms': time '-1ms' is negative");
    EXPECT_EQ(failure("read:hang;chance=2/3"),
              "fault 'read:hang;chance=2/3': not of the form chance=1/N");
    EXPECT_EQ(failure("read:hang;chance=1/0"),
              "fault 'read:hang;chance=1/0': chance '0' is less than 1");
    EXPECT_EQ(failure("read:hang;every=0"), "fault 'read:hang;every=0': every '0' is less than 1");
    EXPECT_EQ(failure("read:hang;count=1;every=2;count=3"),
              "fault 'read:hang;count=1;every=2;count=3': count is given twice");
    EXPECT_EQ(failure("read:hang=0s"),
              "fault 'read:hang=0s': hang is zero, so the rule has no effect");
    EXPECT_EQ(failure("read:hang;counted"),
              "fault 'read:hang;counted': counted is for error and torn");
    EXPECT_EQ(
        failure("read:error=EIO;sticky"),
        "fault 'read:error=EIO;sticky': sticky is for errors of syncs, which reads do not have");
}

TEST(FaultRule, ARuleThatCanNeverMatchIsRefused) {
    const auto failure = [](std::string_view text) {
        return failure_of([&] { return rule_of(text); });
    };
    EXPECT_EQ(
        failure("read:drop"),
        "fault 'read:drop': drop does not concern read requests, so the rule can never match");
    EXPECT_EQ(failure("zeroes:torn"),
              "fault 'zeroes:torn': torn does not concern zeroes requests, so the rule can never "
              "match");
    EXPECT_EQ(failure("flush:corrupt=3"),
              "fault 'flush:corrupt=3': corrupt=3 does not concern flush requests, so the rule can "
              "never match");
    EXPECT_EQ(failure("read:error=EIO;count=0"),
              "fault 'read:error=EIO;count=0': count is zero, so the rule can never match");
    EXPECT_EQ(failure("flush:error=EIO;sectors=0-1"),
              "fault 'flush:error=EIO;sectors=0-1': a flush has no sectors, so the rule can never "
              "match");
    EXPECT_EQ(failure("read:error=EIO;sectors=5-4"),
              "fault 'read:error=EIO;sectors=5-4': sectors: the last one is before the first, so "
              "the rule can never match");
    EXPECT_EQ(failure("read:error=EIO;sectors=2048-4095"),
              "fault 'read:error=EIO;sectors=2048-4095': sector 2048 is behind the end of the "
              "device, so the rule can never match");
    EXPECT_EQ(rule_of("read:error=EIO;sectors=2047-4095").sectors->first, 2047U);
}

TEST(FaultRule, ConcernsAnyOverlapOfItsSectors) {
    const FaultRule rule = rule_of("read:error=EIO;sectors=8-15");
    EXPECT_TRUE(rule.concerns(Faulted(Buf::Op::read, 4096, 4096)));
    EXPECT_FALSE(rule.concerns(Faulted(Buf::Op::read, 0, 4096)));
    EXPECT_TRUE(rule.concerns(Faulted(Buf::Op::read, 0, 4097)));
    EXPECT_FALSE(rule.concerns(Faulted(Buf::Op::read, 8192, 512)));
    EXPECT_TRUE(rule.concerns(Faulted(Buf::Op::read, 8191, 1)));
    EXPECT_FALSE(rule.concerns(Faulted(Buf::Op::write, 4096, 4096)));
}

TEST(FaultRule, AllMeansTheOperationsThatItsKindConcerns) {
    EXPECT_TRUE(rule_of("all:error=EIO").concerns(Faulted(Buf::Op::flush, 0, 0)));
    EXPECT_FALSE(rule_of("all:error=EIO").concerns(Faulted(Buf::Op::block_status)));
    EXPECT_FALSE(rule_of("all:drop").concerns(Faulted(Buf::Op::read)));
    EXPECT_TRUE(rule_of("all:corrupt").concerns(Faulted(Buf::Op::read)));
    EXPECT_FALSE(rule_of("all:error=EIO;sectors=0-9").concerns(Faulted(Buf::Op::flush, 0, 0)));
}

TEST(FaultRules, StrikeTheRequestsThatTheirConditionsSay) {
    EXPECT_EQ(struck("read:error=EIO", 3), (std::vector{1, 2, 3}));
    EXPECT_EQ(struck("read:error=EIO;after=2;count=2", 10), (std::vector{3, 4}));
    EXPECT_EQ(struck("read:error=EIO;every=3", 10), (std::vector{3, 6, 9}));
    EXPECT_EQ(struck("read:error=EIO;after=1;every=3;count=2", 20), (std::vector{4, 7}));
    EXPECT_EQ(struck("write:error=EIO", 5), std::vector<int>{});
}

TEST(FaultRules, AChanceRepeatsWithItsSeed) {
    const auto first = struck("read:error=EIO;chance=1/10", 100'000);
    EXPECT_EQ(struck("read:error=EIO;chance=1/10", 100'000), first);
    EXPECT_NE(struck("read:error=EIO;chance=1/10", 100'000, 2), first);
    EXPECT_NEAR(static_cast<double>(first.size()), 10'000, 4 * 95);  // four standard deviations
}

TEST(FaultRules, TheFirstMatchWinsAndTheNextRuleDoesNotSeeTheRequest) {
    FaultRules rules(1);
    const uint32_t first = rules.add(rule_of("read:error=EIO;every=2"), 0);
    const uint32_t second = rules.add(rule_of("all:hang"), 0);
    EXPECT_EQ(rules.strike(Faulted(), 0)->id, second);
    EXPECT_EQ(rules.strike(Faulted(), 0)->id, first);
    EXPECT_EQ(rules.entries()[0].seen, 2U);
    EXPECT_EQ(rules.entries()[0].hits, 1U);
    EXPECT_EQ(rules.entries()[1].seen, 1U);
    EXPECT_FALSE(rules.strike(Faulted(Buf::Op::cache), 0));
}

TEST(FaultRules, ARuleEndsAfterItsTime) {
    FaultRules rules(1);
    rules.add(rule_of("read:error=EIO;for=5s"), 1000);
    EXPECT_TRUE(rules.strike(Faulted(), 1000));
    EXPECT_TRUE(rules.strike(Faulted(), 5'000'000'999));
    EXPECT_FALSE(rules.strike(Faulted(), 5'000'001'000));
    EXPECT_EQ(rules.entries()[0].seen, 2U);
}

TEST(FaultRules, ARemovedRuleStrikesNoMoreAndItsNumberIsNotUsedAgain) {
    FaultRules rules(1);
    const uint32_t id = rules.add(rule_of("read:error=EIO"), 0);
    EXPECT_TRUE(rules.remove(id));
    EXPECT_FALSE(rules.remove(id));
    EXPECT_FALSE(rules.strike(Faulted(), 0));
    EXPECT_EQ(rules.add(rule_of("read:error=EIO"), 0), id + 1);
    rules.clear();
    EXPECT_TRUE(rules.entries().empty());
}

TEST(Faults, CorruptFlipsAsManyBytesAsItSays) {
    for (const size_t size : {size_t{1}, size_t{7}, size_t{512}, size_t{4096}}) {
        for (const uint64_t count : {uint64_t{1}, uint64_t{5}, uint64_t{5000}}) {
            std::vector<std::byte> data(size);
            corrupt(data, count, Draws(1, 2, 3));
            const auto flipped = std::count(data.begin(), data.end(), std::byte{0xff});
            EXPECT_EQ(static_cast<uint64_t>(flipped), std::min<uint64_t>(size, count));
            corrupt(data, count, Draws(1, 2, 3));  // the same places
            EXPECT_EQ(std::count(data.begin(), data.end(), std::byte{0}), static_cast<long>(size));
        }
    }
}

TEST(Faults, ATornWriteEndsAtASectorBeforeItsLast) {
    std::set<uint64_t> seen;
    for (uint64_t n = 0; n < 1000; ++n) seen.insert(torn_bytes(1024, 2048, Draws(1, 2, n)));
    EXPECT_EQ(seen, (std::set<uint64_t>{0, 512, 1024, 1536}));
    seen.clear();
    for (uint64_t n = 0; n < 1000; ++n) seen.insert(torn_bytes(500, 600, Draws(1, 2, n)));
    EXPECT_EQ(seen, (std::set<uint64_t>{0, 12, 524}));
    EXPECT_EQ(torn_bytes(0, 512, Draws(1, 2, 3)), 0U);
    EXPECT_EQ(torn_bytes(0, 0, Draws(1, 2, 3)), 0U);
}

}  // namespace
}  // namespace blkscope::model
