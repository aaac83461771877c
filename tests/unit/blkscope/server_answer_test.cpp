// Answers of servers, some of which another user has changed.
#include "tools/blkscope/server_answer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "../failure.hpp"
#include "tools/blkscope/slow_look.hpp"
#include "tools/blkscope/trace_part.hpp"

namespace blkscope {
namespace {

std::string refusal_of(const std::string& line) {
    return failure_of<std::runtime_error>([&] { parse_answer(line); });
}

TEST(ServerAnswer, IsAnObject) {
    EXPECT_TRUE(parse_answer(R"({"ok":true})").contains("ok"));
    EXPECT_EQ(refusal_of("[1]"), "the server's answer: no object");
    EXPECT_EQ(refusal_of("5"), "the server's answer: no object");
}

TEST(ServerAnswer, AFailureIsThatOfTheServerOrOfTheInput) {
    EXPECT_EQ(refusal_of(R"({"error":"no such device","status":1})"), "no such device");
    EXPECT_THROW(parse_answer(R"({"error":"bad","status":2})"), std::invalid_argument);
    EXPECT_EQ(refusal_of(R"({"error":"no number","status":9e40})"), "no number");
    EXPECT_EQ(refusal_of(R"({"error":"no number","status":"2"})"), "no number");
}

// A terminal would obey it.
TEST(ServerAnswer, HasNoControlCharacters) {
    constexpr const char* text = "the server's answer: a text has a control character";
    EXPECT_EQ(refusal_of(R"({"error":"a\u001b[2J"})"), text);
    EXPECT_EQ(refusal_of(R"({"faults":[{"rule":"a\nb"}]})"), text);
    EXPECT_EQ(refusal_of(R"({"properties":{"a\u007f":"b"}})"),
              "the server's answer: a key has a control character");
    EXPECT_EQ(refusal_of("a\x7f").find('\x7f'), std::string::npos)
        << "the library shows what it read";
}

TEST(ServerAnswer, ATraceHasPropertiesThatAFileMayHave) {
    const auto start_of = [](const StrictJson& properties) {
        return failure_of<std::runtime_error>([&] {
            trace_start_of({{"next", {1}}, {"realtime_ns", 5}, {"properties", properties}});
        });
    };
    EXPECT_EQ(start_of({{"device", "nbd0"}, {"model", "all=exp:1ms"}}), "none");
    EXPECT_EQ(start_of({{"a=b", "c"}}), "the server's answer: properties that no trace has");
    EXPECT_EQ(start_of({{"a", std::string(1 << 20, 'x')}}),
              "the server's answer: properties that no trace has");
}

TEST(ServerAnswer, RecordsDoNotRunBackwards) {
    const auto part_of = [](const RecorderHeads& next) {
        return failure_of<std::runtime_error>([&] {
            trace_part_of({{"next", next}, {"lost", 0}, {"records", ""}}, {5, 7});
        });
    };
    EXPECT_EQ(part_of({5, 7}), "none");
    EXPECT_EQ(part_of({6, 7, 0}), "none");
    EXPECT_EQ(part_of({5, 6}), "the server's answer: its records run backwards");
    EXPECT_EQ(part_of({5}), "the server's answer: its records run backwards");
}

TEST(ServerAnswer, SlowRequestsHaveTimesWhoseSumsAreTimes) {
    const auto look_at = [](int64_t replied_ns, int64_t realtime_ns) {
        const StrictJson request{
            {"op", "read"},     {"client", "client-1"},    {"error", 0},     {"offset", 0},
            {"bytes", 512},     {"received_ns", 1},        {"queued_ns", 2}, {"started_ns", 3},
            {"finished_ns", 4}, {"replied_ns", replied_ns}};
        return failure_of<std::runtime_error>([&] {
            static_cast<void>(slow_look_of({{"realtime_ns", realtime_ns},
                                            {"now_ns", 100},
                                            {"listed_ns", 99},
                                            {"slowest", {request}},
                                            {"under_way", StrictJson::array()},
                                            {"under_way_count", 0},
                                            {"silent_workers", 0}}));
        });
    };
    EXPECT_EQ(look_at(5, 1'700'000'000'000'000'000), "none");
    EXPECT_EQ(look_at(INT64_MAX, 5), "the server's answer: replied_ns is no time");
    EXPECT_EQ(look_at(5, INT64_MIN), "the server's answer: realtime_ns is no time");
}

TEST(ServerAnswer, CountsAreWholeNumbersThatFit) {
    const auto count = [](const StrictJson& told) {
        return failure_of<std::runtime_error>([&] {
            static_cast<void>(count_at({{"bytes", told}}, "bytes", 100));
        });
    };
    EXPECT_EQ(count(0), "none");
    EXPECT_EQ(count(100), "none");
    for (const StrictJson& told : {StrictJson(101), StrictJson(-1), StrictJson(1.5),
                                   StrictJson(6e23), StrictJson("1"), StrictJson(nullptr)}) {
        EXPECT_EQ(count(told), "the server's answer: bytes is no number");
    }
    const auto under_way = [](const StrictJson& told) {
        return failure_of<std::runtime_error>([&] {
            static_cast<void>(slow_look_of({{"realtime_ns", 1},
                                            {"now_ns", 100},
                                            {"listed_ns", 99},
                                            {"slowest", StrictJson::array()},
                                            {"under_way", StrictJson::array()},
                                            {"under_way_count", told},
                                            {"silent_workers", told}}));
        });
    };
    EXPECT_EQ(under_way(2), "none");
    EXPECT_EQ(under_way(-1), "the server's answer: under_way_count is no number");
    EXPECT_EQ(under_way(5'000'000'000), "the server's answer: silent_workers is no number");
    EXPECT_EQ(failure_of<std::runtime_error>([] {
                  static_cast<void>(heads_of({{"next", {1, 6e23}}}));
              }),
              "the server's answer: next has no numbers");
}

}  // namespace
}  // namespace blkscope
