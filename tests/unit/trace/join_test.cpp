// The requests of a server in front of another, joined with those of the other.
#include "trace/join.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "trace/file.hpp"

namespace blkscope::trace {
namespace {

constexpr int64_t ms = 1'000'000;

// At the first server, with 50 us of service.
Request at_first(int64_t at, uint64_t upstream_cookie, uint64_t offset = 4096) {
    return {.received = at,
            .queued = at + 1'000,
            .started = at + 10'000,
            .finished = at + 60'000,
            .replied = at + 61'000,
            .offset = offset,
            .bytes = 512,
            .cookie = 99,
            .upstream_cookie = upstream_cookie};
}

// At the second server, within the service of the first one's request `at`.
Request at_second(int64_t at, uint64_t cookie, uint64_t offset = 4096) {
    return {.received = at + 20'000,
            .queued = at + 21'000,
            .started = at + 23'000,
            .finished = at + 50'000,
            .replied = at + 51'000,
            .offset = offset,
            .bytes = 512,
            .cookie = cookie};
}

Trace trace_of(std::vector<Request> requests) {
    Trace trace;
    trace.requests = std::move(requests);
    return trace;
}

size_t count_of(const Join& join) {
    return join.pairs.size() + join.without_cookie + join.missing + join.ambiguous + join.outside;
}

// A pair of requests at both ends, so that all others are within the time of both traces.
Trace first_of(std::vector<Request> requests) {
    requests.insert(requests.begin(), at_first(ms, 1));
    requests.push_back(at_first(1000 * ms, 2));
    return trace_of(std::move(requests));
}
Trace second_of(std::vector<Request> requests) {
    requests.insert(requests.begin(), at_second(ms, 1));
    requests.push_back(at_second(1000 * ms, 2));
    requests.front().received = requests.front().queued = 1;
    requests.front().cookie = 0;  // earlier than all, and of no request
    return trace_of(std::move(requests));
}

TEST(TraceJoin, ACookieJoins) {
    const Trace first = trace_of({at_first(100 * ms, 7), at_first(200 * ms, 8)});
    const Trace second = trace_of({at_second(100 * ms, 7), at_second(200 * ms, 8)});
    const Join joined = join(first, second);
    EXPECT_EQ(joined.pairs, (std::vector<JoinedPair>{{0, 0}, {1, 1}}));
    EXPECT_EQ(count_of(joined), 2u);
}

TEST(TraceJoin, ARequestThatTheSecondLacksIsMissing) {
    const Join joined = join(first_of({at_first(100 * ms, 7)}), second_of({}));
    EXPECT_EQ(joined.missing, 2u);  // and the first of all
    EXPECT_EQ(joined.pairs, (std::vector<JoinedPair>{{2, 1}}));
}

TEST(TraceJoin, OperationPlaceAndLengthMustBeEqualToo) {
    const auto is_missing = [](auto change) {
        Request other = at_second(100 * ms, 7);
        change(other);
        return join(first_of({at_first(100 * ms, 7)}), second_of({other})).missing == 2;
    };
    EXPECT_FALSE(is_missing([](Request& /*same*/) {}));
    EXPECT_TRUE(is_missing([](Request& each) { each.op = Op::write; }));
    EXPECT_TRUE(is_missing([](Request& each) { each.offset += 512; }));
    EXPECT_TRUE(is_missing([](Request& each) { each.bytes = 1024; }));
    EXPECT_TRUE(is_missing([](Request& each) { each.cookie = 8; }));
    EXPECT_TRUE(is_missing([](Request& each) { each.received = 0; }));  // no connection's
    EXPECT_TRUE(is_missing([](Request& each) { each.finished = 0; }));
}

// Its wait begins where it was received, and without a start it has none.
TEST(TraceJoin, AnUnknownMomentIsNotTheBeginningOfTime) {
    Request first = at_first(100 * ms, 7);
    first.queued = 0;
    Request unknown = at_first(100 * ms, 8);
    unknown.started = 0;
    const CommonSums sums =
        common_sums(trace_of({first, unknown}), trace_of({at_second(100 * ms, 7)}));
    EXPECT_EQ(sums.first.count, 1u);
    EXPECT_EQ(sums.first.wait_ns, 10'000);
}

TEST(TraceJoin, AFlushHasNoPlace) {
    Request first = at_first(100 * ms, 7);
    Request second = at_second(100 * ms, 7);
    first.op = second.op = Op::flush;
    second.offset = second.bytes = 0;
    EXPECT_EQ(join(trace_of({first}), trace_of({second})).pairs.size(), 1u);
}

// Each connection counts from the beginning, so a cookie comes again.
TEST(TraceJoin, ACookieThatComesAgainIsTheOneOfItsTime) {
    const Trace first = trace_of({at_first(100 * ms, 7), at_first(300 * ms, 7)});
    const Trace second =
        trace_of({at_second(100 * ms, 7), at_second(200 * ms, 7), at_second(300 * ms, 7)});
    EXPECT_EQ(join(first, second).pairs, (std::vector<JoinedPair>{{0, 0}, {1, 2}}));
}

TEST(TraceJoin, WhereTwoFitNoneIsTaken) {
    const Trace first = trace_of({at_first(100 * ms, 7), at_first(200 * ms, 8)});
    const Trace second =
        trace_of({at_second(100 * ms, 7), at_second(100 * ms + 5, 7), at_second(200 * ms, 8)});
    const Join joined = join(first, second);
    EXPECT_EQ(joined.ambiguous, 1u);
    EXPECT_EQ(joined.pairs, (std::vector<JoinedPair>{{1, 2}}));
}

TEST(TraceJoin, WhatTwoOfTheFirstFitBelongsToNeither) {
    const Trace first =
        trace_of({at_first(100 * ms, 7), at_first(100 * ms + 5, 7), at_first(100 * ms + 9, 7)});
    const Join joined = join(first, trace_of({at_second(100 * ms, 7)}));
    EXPECT_EQ(joined.ambiguous, 3u);
    EXPECT_TRUE(joined.pairs.empty());
}

// The upper half of a cookie counts to its end and begins again.
TEST(TraceJoin, ACookieMayBeAnyNumberButNone) {
    const uint64_t last = UINT64_MAX;
    const uint64_t wrapped = 3;  // uses 0, place 3
    const Trace first =
        trace_of({at_first(100 * ms, last), at_first(101 * ms, wrapped), at_first(102 * ms, 0)});
    const Trace second =
        trace_of({at_second(100 * ms, last), at_second(101 * ms, wrapped), at_second(102 * ms, 0)});
    const Join joined = join(first, second);
    EXPECT_EQ(joined.pairs, (std::vector<JoinedPair>{{0, 0}, {1, 1}}));
    EXPECT_EQ(joined.without_cookie, 1u);
}

TEST(TraceJoin, WhatIsBeforeOrAfterTheSecondTraceIsNotMissing) {
    const Trace second = trace_of({at_second(400 * ms, 1), at_second(600 * ms, 2)});
    const Trace first =
        trace_of({at_first(100 * ms, 7), at_first(500 * ms, 8), at_first(900 * ms, 9)});
    const Join joined = join(first, second);
    EXPECT_EQ(joined.outside, 2u);
    EXPECT_EQ(joined.missing, 1u);
}

TEST(TraceJoin, ARequestUnderWayIsOutside) {
    Request under_way = at_first(100 * ms, 7);
    under_way.finished = under_way.replied = 0;
    EXPECT_EQ(join(trace_of({under_way}), trace_of({at_second(100 * ms, 7)})).outside, 1u);
}

TEST(TraceJoin, NothingIsJoinedWithAnEmptyTrace) {
    EXPECT_EQ(join(trace_of({at_first(100 * ms, 7)}), {}).outside, 1u);
    EXPECT_EQ(count_of(join({}, trace_of({at_second(100 * ms, 7)}))), 0u);
    EXPECT_EQ(common_sums({}, trace_of({at_second(100 * ms, 7)})).second.count, 0u);
}

// A server that runs for days has stamps that differ from another one's.
TEST(TraceJoin, TheOffsetsOfTheClocksAreUsed) {
    Trace first = trace_of({at_first(100 * ms, 7)});
    Trace second = trace_of({at_second(5100 * ms, 7)});
    EXPECT_TRUE(join(first, second).pairs.empty());
    first.realtime_ns = 1'700'000'000'000'000'000;
    second.realtime_ns = first.realtime_ns - 5000 * ms;
    EXPECT_EQ(join(first, second).pairs.size(), 1u);
    first.realtime_ns = 0;  // a trace of another program
    EXPECT_TRUE(join(first, second).pairs.empty());
}

TEST(TraceJoin, ClocksMayDifferALittle) {
    const Trace first = trace_of({at_first(100 * ms, 7)});
    for (const int64_t off : {-9 * ms, 9 * ms}) {
        EXPECT_EQ(join(first, trace_of({at_second(100 * ms + off, 7)})).pairs.size(), 1u) << off;
    }
    for (const int64_t off : {-11 * ms, 11 * ms}) {
        EXPECT_TRUE(join(first, trace_of({at_second(100 * ms + off, 7)})).pairs.empty()) << off;
    }
}

TEST(TraceJoin, StampsAtTheEndOfTimeAreNoOverflow) {
    Request first = at_first(INT64_MAX - 100'000, 7);
    Request second = at_second(INT64_MAX - 100'000, 7);
    first.queued = second.queued = 1;  // sums of such waits are larger than an integer
    first.received = second.received = 1;
    Trace one = trace_of({first, first, first});
    Trace other = trace_of({second, second, second});
    one.realtime_ns = INT64_MAX;
    other.realtime_ns = INT64_MIN;
    EXPECT_EQ(count_of(join(one, other)), 3u);
    EXPECT_GE(common_sums(one, one).first.wait_ns, 2e19);
}

TEST(TraceJoin, SumsAreThoseOfReadsAndWritesInTheCommonTime) {
    Request flush = at_first(200 * ms, 3);
    flush.op = Op::flush;
    const Trace first = trace_of({at_first(100 * ms, 1), flush, at_first(300 * ms, 4)});
    const Trace second = trace_of({at_second(100 * ms, 1), at_second(150 * ms, 1),
                                   at_second(250 * ms, 1), at_second(900 * ms, 1)});
    const CommonSums sums = common_sums(first, second);
    EXPECT_EQ(sums.first.count, 2u);
    EXPECT_EQ(sums.second.count, 3u);  // the last one came after the first trace
    EXPECT_EQ(sums.first.service_ns, 100'000.0);
    EXPECT_EQ(sums.second.wait_ns, 6'000.0);
    EXPECT_EQ(sums.second.bytes, 3 * 512.0);
}

// Random traces: each request of the first is counted once, and no pair shares one.
TEST(TraceJoin, OfAnyTracesEachRequestIsCountedOnce) {
    std::mt19937_64 random(20261124);
    const auto below = [&](uint64_t end) { return random() % end; };
    for (int round = 0; round < 300; ++round) {
        std::vector<Request> first(below(40));
        std::vector<Request> second(below(40));
        for (Request& each : first) {
            each = at_first(static_cast<int64_t>(1 + below(60)) * ms, below(4), below(2) * 512);
            if (below(10) == 0) each.finished = 0;
        }
        for (Request& each : second) {
            each = at_second(static_cast<int64_t>(1 + below(60)) * ms, below(4), below(2) * 512);
            each.op = static_cast<Op>(below(3));
        }
        const Join joined = join(trace_of(first), trace_of(second));
        EXPECT_EQ(count_of(joined), first.size());
        std::set<size_t> firsts;
        std::set<size_t> seconds;
        for (const auto& [one, other] : joined.pairs) {
            EXPECT_TRUE(firsts.insert(one).second);
            EXPECT_TRUE(seconds.insert(other).second);
            EXPECT_EQ(first[one].upstream_cookie, second[other].cookie);
            EXPECT_EQ(first[one].op, second[other].op);
        }
    }
}

}  // namespace
}  // namespace blkscope::trace
