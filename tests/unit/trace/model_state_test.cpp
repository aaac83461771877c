// The state of a model in the header of a trace.
#include "trace/model_state.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "requests.hpp"
#include "trace/file.hpp"

namespace blkscope::trace {
namespace {

constexpr auto read_op = static_cast<size_t>(Op::read);
constexpr auto write_op = static_cast<size_t>(Op::write);
constexpr auto flush_op = static_cast<size_t>(Op::flush);

ModelState some_state() {
    ModelState state{.at = 81'234, .seed = UINT64_MAX};
    state.drawn[read_op] = 1044;
    state.drawn[flush_op] = 3;
    state.tokens = {{"iops", -3}, {"write_bps", 1 << 30}};
    state.head = 1 << 20;
    return state;
}

ModelState state_in(const Trace& trace) {
    const auto state = state_of(trace.properties);
    EXPECT_TRUE(state.has_value());
    return state ? *state : ModelState{};
}

std::string trouble_of(const Properties& properties) {
    const auto state = state_of(properties);
    return state ? "none" : state.error();
}

TEST(ModelState, IsInTheHeaderOfAFile) {
    Trace trace = trace_of_all();
    put_state(some_state(), trace.properties);
    const std::string file = encode_file(trace);
    const auto read = decode_file(std::as_bytes(std::span(file)));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(state_in(*read), some_state());
    EXPECT_EQ(read->properties.at("device"), "nbd3");
    EXPECT_EQ(read->properties.at("drawn_read"), "1044");
}

TEST(ModelState, OfAFileOfAnEarlierVersionIsNone) {
    EXPECT_EQ(state_in(trace_of_all()), ModelState{});
    const Properties earlier{{"seed", "7"}, {"model", "read=exp:1ms"}};
    const auto state = state_of(earlier);
    ASSERT_TRUE(state.has_value());
    EXPECT_EQ(state->at, 0);
    EXPECT_EQ(state->seed, 7U);
}

TEST(ModelState, ReplacesAnEarlierOne) {
    Properties properties{{"model", "x"}};
    put_state(some_state(), properties);
    put_state({.at = 5}, properties);
    EXPECT_EQ(properties,
              (Properties{{"model", "x"}, {"seed", "18446744073709551615"}, {"state_ns", "5"}}));
}

TEST(ModelState, ThatIsNoNumberIsRefused) {
    EXPECT_EQ(trouble_of({{"state_ns", "soon"}}), "damaged: its property state_ns is no number");
    EXPECT_EQ(trouble_of({{"seed", ""}}), "damaged: its property seed is no number");
    EXPECT_EQ(trouble_of({{"head", "-1"}}), "damaged: its property head is no number");
    EXPECT_EQ(trouble_of({{"drawn_trim", "18446744073709551616"}}),
              "damaged: its property drawn_trim is no number");
    EXPECT_EQ(trouble_of({{"tokens_iops", "1.5"}}),
              "damaged: its property tokens_iops is no number");
    Trace trace{.properties = {{"state_ns", "soon"}}, .requests = {request_at(100)}};
    settle(trace);
    drop_first(trace, 1);
    EXPECT_EQ(trace.properties, (Properties{{"state_ns", "soon"}}));
    EXPECT_TRUE(trace.requests.empty());
}

// Two reads had started before the state was asked for, and one had ended.
TEST(ModelState, IsSettledToBeforeTheFirstRequest) {
    Trace trace;
    for (const int64_t at : {1000, 2000, 3000}) trace.requests.push_back(request_at(at));
    ModelState state = some_state();
    state.at = 2040;
    put_state(state, trace.properties);
    settle(trace);
    EXPECT_EQ(state_in(trace).drawn[read_op], 1042U);
    EXPECT_EQ(state_in(trace).at, 1000);
    EXPECT_FALSE(state_in(trace).head.has_value());
    EXPECT_TRUE(state_in(trace).tokens.empty());
    const Properties once = trace.properties;
    settle(trace);
    EXPECT_EQ(trace.properties, once);
}

TEST(ModelState, OfARecordingFromNowOnKeepsHeadAndTokens) {
    Trace trace;
    for (const int64_t at : {1000, 2000, 3000}) trace.requests.push_back(request_at(at));
    ModelState state = some_state();
    state.at = 1040;  // the first read runs
    put_state(state, trace.properties);
    settle(trace);
    EXPECT_EQ(state_in(trace).drawn[read_op], 1043U);
    EXPECT_EQ(state_in(trace).head, state.head);
    EXPECT_EQ(state_in(trace).tokens, state.tokens);
}

// A write with FUA takes a draw of a flush, too. A request without a time of service takes none.
TEST(ModelState, GoesOnWithTheRequestsThatAreDropped) {
    Trace trace;
    for (const Op op : {Op::read, Op::write, Op::flush, Op::read, Op::flush}) {
        trace.requests.push_back(request_at(1000 * (1 + std::ssize(trace.requests)), op));
    }
    trace.requests[1].flags = flag::fua;
    trace.requests[2].drawn_ns = 0;
    ModelState state = some_state();
    state.at = 900;
    put_state(state, trace.properties);
    drop_first(trace, 3);
    EXPECT_EQ(trace.requests.size(), 2U);
    EXPECT_EQ(state_in(trace).drawn[read_op], 1045U);
    EXPECT_EQ(state_in(trace).drawn[write_op], 1U);
    EXPECT_EQ(state_in(trace).drawn[flush_op], 4U);
    EXPECT_FALSE(state_in(trace).head.has_value());
}

}  // namespace
}  // namespace blkscope::trace
