// Requests to a running server: the line of each, and lines that are none.
#include "tools/blkscope/control_request.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../failure.hpp"
#include "unit/rounds/rounds.hpp"

namespace blkscope {
namespace {

using Command = ControlRequest::Command;

std::string refusal(const std::string& line) {
    return failure_of([&] { return parse_request(line); });
}

/// A line with everything that a request may have.
std::string full_line() {
    ControlRequest request{.command = Command::set, .device = "nbd0"};
    request.model = "read=empirical:a \"b\"";
    request.limit = "none";
    request.queue_depth = 7;
    request.histograms = {{"a \"b\"", "read", {{{0, 1000, 3}, {1000, 2000.5, 1}}}}};
    return text_of(request);
}

TEST(ControlRequest, ParsesBackWhatItPrints) {
    EXPECT_EQ(full_line().find('\n'), std::string::npos);
    const ControlRequest request = parse_request(full_line());
    EXPECT_EQ(request.command, Command::set);
    EXPECT_EQ(request.device, "nbd0");
    EXPECT_EQ(request.model, "read=empirical:a \"b\"");
    EXPECT_EQ(request.limit, "none");
    EXPECT_EQ(request.queue_depth, 7u);
    ASSERT_EQ(request.histograms.size(), 1u);
    EXPECT_EQ(request.histograms[0].file, "a \"b\"");
    EXPECT_EQ(request.histograms[0].operation, "read");
    EXPECT_EQ(request.histograms[0].histogram,
              (model::Histogram{{{0, 1000, 3}, {1000, 2000.5, 1}}}));
    EXPECT_EQ(text_of(request), full_line());
}

TEST(ControlRequest, EveryCommandHasALine) {
    for (const char* line :
         {R"({"command":"set","device":"nbd0","model":"none"})",
          R"({"command":"fault-add","device":"nbd0","rule":"write:drop"})",
          R"({"command":"fault-list","device":"nbd0"})",
          R"({"command":"fault-clear","device":"nbd0"})",
          R"({"command":"fault-clear","device":"nbd0","id":4294967295})",
          R"({"command":"clear-error","device":"nbd0"})", R"({"command":"crash","device":"nbd0"})",
          R"({"command":"trace","device":"nbd0"})",
          R"({"command":"trace","device":"nbd0","from":[]})",
          R"({"command":"trace","device":"nbd0","from":[0,18446744073709551615]})",
          R"({"command":"slow","device":"nbd0"})",
          R"({"command":"slow","device":"nbd0","over-ns":10000000})",
          R"({"command":"slow","device":"nbd0","over-ns":10000000,"since-ns":77})",
          R"({"command":"crash","all":true})"}) {
        EXPECT_EQ(text_of(parse_request(line)), line);
    }
}

TEST(ControlRequest, AWrongLineHasItsKey) {
    struct {
        const char* line;
        const char* refusal;
    } const cases[] = {
        {"", "line 1, column 1: "},
        {"nonsense", "line 1, column 2: "},
        {"[]", "not an object"},
        {"7", "not an object"},
        {R"({"device":"nbd0"})", "command: missing or empty"},
        {R"({"command":"sett","device":"nbd0"})", "command: there is no command 'sett'"},
        {R"({"command":"set"})", "device: missing or empty"},
        {R"({"command":"crash"})", "device: missing or empty"},
        {R"({"command":"crash","all":false})", "device: missing or empty"},
        {R"({"command":"crash","all":1})", "all: "},
        {R"({"command":"crash","all":true,"device":"nbd0"})", "device: "},
        {R"({"command":"set","all":true,"device":"nbd0"})", "all: "},
        {R"({"command":"set","device":7})", "device: not a string"},
        {R"({"command":"set","device":"nbd0","model":7})", "model: not a string"},
        {R"({"command":"set","device":"nbd0","model":"a\nb"})", "model: has a control character"},
        {R"({"command":"set","device":"nbd0","queue-depth":0})", "queue-depth: 0 is not 1 to 1024"},
        {R"({"command":"set","device":"nbd0","rule":"write:drop"})", "rule: no such key"},
        {R"({"command":"set","device":"nbd0","device":"nbd1"})", "device: given twice"},
        {R"({"command":"set","device":"nbd0","histograms":[7]})", "histograms[0]: not an object"},
        {R"({"command":"set","device":"nbd0","histograms":[
            {"file":"a","operation":"read","buckets":[[0,1]]}]})",
         "histograms[0].buckets[0]: not [FROM, TO, COUNT]"},
        {R"({"command":"set","device":"nbd0","histograms":[
            {"file":"a","operation":"read","buckets":[[0,1,-1]]}]})",
         "histograms[0].buckets[0]: not [FROM, TO, COUNT]"},
        {R"({"command":"fault-add","device":"nbd0"})", "rule: missing or empty"},
        {R"({"command":"fault-clear","device":"nbd0","id":0})", "id: 0 is not 1 to"},
        {R"({"command":"trace","device":"nbd0","from":7})", "from: not an array"},
        {R"({"command":"trace","device":"nbd0","from":[-1]})", "from: not a list of whole"},
        {R"({"command":"trace","device":"nbd0","from":[1.5]})", "from: not a list of whole"},
        {R"({"command":"trace","device":"nbd0","over-ns":1})", "over-ns: no such key"},
        {R"({"command":"slow","device":"nbd0","over-ns":3600000000001})", "over-ns: too large"},
    };
    for (const auto& [line, why] : cases) {
        EXPECT_EQ(refusal(line).rfind(why, 0), 0u) << line << " is: " << refusal(line);
    }
    EXPECT_EQ(refusal(std::string(60'000, '[')), "nested too deeply");
}

// Any bytes are a request, or std::invalid_argument.
TEST(ControlRequest, DamagedLinesAreRefusedOrRequests) {
    std::mt19937 random(20261123);
    const std::string whole = full_line();
    for (int i = 0; i < computed_rounds(20'000); ++i) {
        std::string line = whole.substr(0, random() % (whole.size() + 1));
        for (unsigned changes = random() % 4; changes > 0 && !line.empty(); --changes) {
            line[random() % line.size()] = static_cast<char>(random());
        }
        static_cast<void>(refusal(line));
    }
}

}  // namespace
}  // namespace blkscope
