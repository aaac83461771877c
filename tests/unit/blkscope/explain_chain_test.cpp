// The screen of blkscope explain --upstream.
#include "tools/blkscope/explain_chain.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace blkscope {
namespace {

constexpr int64_t us = 1000;

// 20 us of wait, then 100 us of service.
trace::Request at_first(int64_t at_us, uint64_t upstream_cookie) {
    trace::Request request{.received = at_us * us, .queued = at_us * us};
    request.started = request.queued + 20 * us;
    request.finished = request.started + 100 * us;
    request.offset = 8192;
    request.bytes = 4096;
    request.upstream_cookie = upstream_cookie;
    return request;
}

// Within that service: 10 us of wait, then 50 us of service.
trace::Request at_second(int64_t at_us, uint64_t cookie) {
    trace::Request request{.received = (at_us + 30) * us, .queued = (at_us + 31) * us};
    request.started = request.queued + 10 * us;
    request.finished = request.started + 50 * us;
    request.offset = 8192;
    request.bytes = 4096;
    request.cookie = cookie;
    return request;
}

std::string text_of(std::vector<trace::Request> first, std::vector<trace::Request> second,
                    uint64_t lost = 0) {
    trace::Trace one;
    trace::Trace other;
    one.requests = std::move(first);
    other.requests = std::move(second);
    other.lost = lost;
    return chain_text({"nbd1", one}, {"nbd0", other});
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(ExplainChain, IsOneScreenAndOneSentence) {
    trace::Request slow = at_first(1000, 2);
    slow.finished += 900 * us;
    EXPECT_EQ(
        text_of({at_first(500, 1), slow}, {at_second(500, 1), at_second(1000, 2)}),
        "nbd1 in front of nbd0: 2 of 2 requests joined one by one\n"
        "\n"
        "The slowest, in milliseconds:\n"
        "  op           offset    bytes      wait   service   up-wait up-service     rest\n"
        "  read           8192     4096     0.020     1.000     0.010      0.050    0.940\n"
        "  read           8192     4096     0.020     0.100     0.010      0.050    0.040\n"
        "\n"
        "The means of 2 joined reads and writes:\n"
        "  stage               mean  share\n"
        "  wait             20.0 us   3.5 %  #                              \n"
        "  service         550.0 us  96.5 %  #############################  \n"
        "    up-wait        10.0 us   1.8 %  #                              \n"
        "    up-service     50.0 us   8.8 %  ###                            \n"
        "    rest          490.0 us  86.0 %  ##########################     \n"
        "\n"
        "Most of the time, 86 %, is the rest: the way between the servers, and their own work.\n");
}

TEST(ExplainChain, EachPartHasItsSentence) {
    const auto sentence = [](auto change) {
        trace::Request one = at_first(500, 1);
        trace::Request other = at_second(500, 1);
        change(one, other);
        const std::string text = text_of({one}, {other});
        return text.substr(text.rfind('\n', text.size() - 2) + 1);
    };
    EXPECT_TRUE(has(sentence([](auto& one, auto& /*other*/) { one.queued = 1; }),
                    "is the wait at nbd1: a larger --queue-depth there"));
    EXPECT_TRUE(has(sentence([](auto& /*one*/, auto& other) { other.started += 49 * us; }),
                    "is the wait at nbd0: a larger --queue-depth there"));
    EXPECT_TRUE(has(sentence([](auto& /*one*/, auto& /*other*/) {}),
                    "Most of the time, 42 %, is the service of nbd0: its backing decides it."));
}

TEST(ExplainChain, ARequestWithoutAPartnerHasDashes) {
    const std::string text =
        text_of({at_first(500, 1), at_first(700, 9), at_first(900, 0), at_first(1100, 2)},
                {at_second(500, 1), at_second(1100, 2), at_second(1500, 3)});
    EXPECT_TRUE(has(text,
                    "nbd1 in front of nbd0: 2 of 4 requests joined one by one\n"
                    "  1 without a cookie: sent in parts, or not at all\n"
                    "  1 not in the other trace\n"))
        << text;
    EXPECT_TRUE(has(text, "0.020     0.100         -          -        -\n")) << text;
}

TEST(ExplainChain, ARequestWithoutAKnownStartIsNoSlowOne) {
    trace::Request unknown = at_first(700, 9);
    unknown.started = 0;
    const std::string text =
        text_of({at_first(500, 1), unknown}, {at_second(500, 1), at_second(1500, 3)});
    EXPECT_TRUE(
        has(text, "1 outside of the other trace's time, or without a known start and end\n"))
        << text;
    EXPECT_FALSE(has(text, "          -          -          -\n")) << text;
    EXPECT_TRUE(has(text, "The means of 1 joined reads and writes:\n")) << text;
}

// Traces of an older version, and requests in parts.
TEST(ExplainChain, WithoutCookiesTheMeansAreCompared) {
    const std::vector<trace::Request> first{at_first(400, 0), at_first(500, 0), at_first(900, 0)};
    std::vector<trace::Request> second{at_second(400, 5), at_second(500, 6), at_second(900, 7)};
    const std::string text = text_of(first, second);
    EXPECT_FALSE(has(text, "The slowest")) << text;
    EXPECT_FALSE(has(text, "had other requests")) << text;
    EXPECT_TRUE(has(text, "All reads and writes in the time of both, by means: 3 and 3\n")) << text;
    EXPECT_TRUE(has(text, "    up-service     50.0 us")) << text;
    EXPECT_TRUE(has(text, "    rest           40.0 us")) << text;
    second.push_back(at_second(950, 1));  // another client's
    const std::string shared = text_of(first, second);
    EXPECT_TRUE(has(shared, "by means: 3 and 4\n  nbd0 had other requests, too: 75 % of its time"))
        << shared;
    EXPECT_TRUE(has(shared, "    up-service     50.0 us")) << shared;
}

// Two requests at the second server are one of the first.
TEST(ExplainChain, PartsOfARequestAreSummed) {
    std::vector<trace::Request> second{at_second(500, 5), at_second(510, 6)};
    for (trace::Request& each : second) each.bytes = 2048;
    const std::string text = text_of({at_first(500, 0)}, second);
    EXPECT_TRUE(has(text, "by means: 1 and 2\n  stage")) << text;
    EXPECT_TRUE(has(text, "    up-service    100.0 us")) << text;
}

// A flush that waits for another one is not sent itself.
TEST(ExplainChain, AFlushWithoutACookieLeavesTheMeansOfTheOthers) {
    trace::Request flush = at_first(520, 0);
    flush.op = trace::Op::flush;
    const std::string text = text_of({at_first(500, 1), flush}, {at_second(500, 1)});
    EXPECT_TRUE(has(text, "  1 without a cookie: sent in parts, or not at all\n")) << text;
    EXPECT_TRUE(has(text, "The means of 1 joined reads and writes:\n")) << text;
    EXPECT_FALSE(has(text, "by means")) << text;
}

TEST(ExplainChain, OverwrittenRecordsAreTold) {
    EXPECT_TRUE(has(text_of({at_first(500, 1)}, {at_second(500, 1)}, 17),
                    "  17 records of nbd0 were overwritten before they were read\n"));
}

TEST(ExplainChain, WithoutRequestsThereIsNothingToExplain) {
    EXPECT_TRUE(has(text_of({}, {}), "There were no requests to explain."));
    EXPECT_TRUE(has(text_of({}, {at_second(500, 1)}), "There were no requests to explain."));
    const std::string text = text_of({at_first(500, 1)}, {});
    EXPECT_TRUE(has(text, "0 of 1 requests joined")) << text;
    EXPECT_TRUE(has(text, "by means: 0 and 0\n")) << text;
}

TEST(ExplainChain, StampsAtTheEndOfTimeAreNoOverflow) {
    trace::Request one = at_first(500, 1);
    trace::Request other = at_second(500, 1);
    one.finished = other.finished = INT64_MAX;
    other.queued = other.received = 1;
    EXPECT_TRUE(has(text_of({one, one}, {other, other}), "0 of 2 requests joined"));
    one.started = one.queued = one.received = 1;
    EXPECT_TRUE(has(text_of({one}, {other}), "1 of 1 requests joined"));
}

}  // namespace
}  // namespace blkscope
