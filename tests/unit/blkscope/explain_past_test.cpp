// The screen of blkscope explain for requests that have ended.
#include "tools/blkscope/explain_past.hpp"

#include <gtest/gtest.h>

#include <string>

namespace blkscope {
namespace {

constexpr int64_t past_us = 1000;

// A request that waits for 30 us and is served for 10 us.
trace::Request request_at(int64_t at, uint32_t client = 1) {
    return {.received = at,
            .queued = at + 1 * past_us,
            .started = at + 31 * past_us,
            .finished = at + 41 * past_us,
            .replied = at + 43 * past_us,
            .bytes = 4096,
            .client = client};
}

trace::Trace trace_of(int requests) {
    trace::Trace trace;
    for (int i = 0; i < requests; ++i)
        trace.requests.push_back(request_at((i + 1) * 1000 * past_us));
    return trace;
}

TEST(ExplainPast, HasTheMeanOfEachStageAndNamesTheLargest) {
    const std::string text = past_text("old.trace", trace_of(100));
    EXPECT_NE(text.find("old.trace: 100 reads and writes in 0.1 s"), std::string::npos) << text;
    EXPECT_NE(text.find("wait             30.0 us  69.8 %"), std::string::npos) << text;
    EXPECT_NE(text.find("service          10.0 us  23.3 %"), std::string::npos) << text;
    EXPECT_NE(text.find("Most of the time, 70 %, was wait"), std::string::npos) << text;
    EXPECT_EQ(text.find("not in the trace"), std::string::npos) << text;
}

TEST(ExplainPast, CountsTheRequestsThatLackAStampInsteadOfTakingThemForZero) {
    trace::Trace trace = trace_of(4);
    trace.requests[0].finished = trace.requests[0].replied = 0;
    trace.requests[1].started = 0;
    for (trace::Request& each : trace.requests) each.received = 0;
    const std::string text = past_text("old.trace", trace);
    EXPECT_EQ(text.find("receive  "), std::string::npos) << text;
    EXPECT_NE(text.find("receive is not in the trace for 4 of them"), std::string::npos) << text;
    EXPECT_NE(text.find("wait is not in the trace for 1 of them"), std::string::npos) << text;
    EXPECT_NE(text.find("service is not in the trace for 2 of them"), std::string::npos) << text;
    EXPECT_NE(text.find("service          10.0 us"), std::string::npos) << text;
}

// As a csv file made by hand has them: the service was the smallest part.
TEST(ExplainPast, WithoutAQueueTheWaitBeginsAtTheArrival) {
    trace::Trace trace = trace_of(10);
    for (trace::Request& each : trace.requests) each.queued = 0;
    const std::string text = past_text("old.csv", trace);
    EXPECT_NE(text.find("wait             31.0 us"), std::string::npos) << text;
    EXPECT_NE(text.find("Most of the time, 72 %, was wait"), std::string::npos) << text;
    EXPECT_EQ(text.find("wait is not in the trace"), std::string::npos) << text;
}

TEST(ExplainPast, NamesTheClientThatHadNearlyAllOfTheDisk) {
    trace::Trace trace = trace_of(99);
    trace.requests.push_back(request_at(200'000 * past_us, 2));
    const std::string text = past_text("old.trace", trace);
    EXPECT_NE(text.find("client-1 had 99 % of the disk"), std::string::npos) << text;
    EXPECT_NE(text.find("order=fair"), std::string::npos) << text;
}

TEST(ExplainPast, WithoutReadsAndWritesThereIsNothingToExplain) {
    trace::Trace trace;
    trace.requests.push_back({.queued = 1, .op = trace::Op::flush});
    EXPECT_EQ(past_text("x", trace), "x: no reads or writes to explain\n");
}

}  // namespace
}  // namespace blkscope
