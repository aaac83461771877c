#include "tools/report/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

namespace blkscope::report {
namespace {

using nlohmann::json;

// A run of six seconds at a fixed rate, in intervals of 100 ms, whose times of service are exponential.
// An interval without requests begins it and ends it.
json run_with(double read_ms, double write_ms, unsigned seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> exponential;
    json samples = json::array();
    for (int i = 0; i < 60; ++i) {
        const bool is_idle = i < 3 || i >= 57;
        const int requests = is_idle ? 0 : 100;
        double reads_ns = 0;
        double writes_ns = 0;
        for (int k = 0; k < requests; ++k) {
            reads_ns += exponential(random) * read_ms * 1e6;
            writes_ns += exponential(random) * write_ms * 1e6;
        }
        json times = json::object();
        if (!is_idle) {
            times["read_service"] = {reads_ns, requests};
            times["write_service"] = {writes_ns, requests};
        }
        samples.push_back({{"elapsed", 0.1},
                           {"reads", requests * 10},
                           {"writes", requests * 10},
                           {"readBytes", requests * 40960},
                           {"writtenBytes", requests * 40960},
                           {"wait", 0},
                           {"actv", (reads_ns + writes_ns) / 1e8},
                           {"times", std::move(times)}});
    }
    return {{"schema", "blkscope.report/1"},
            {"command", {"load"}},
            {"began", 1},
            {"seconds", 6.0},
            {"devices", {{{"device", "nbd0"}, {"samples", std::move(samples)}}}}};
}

std::set<std::string> different(const json& before, const json& after) {
    std::set<std::string> names;
    for (const Compared& one : compare(before.dump(), after.dump())) {
        if (one.differs) names.insert(one.device + " " + one.figure);
    }
    return names;
}

TEST(ReportComparison, TheChangeThatWasMadeIsMarkedAndNothingElse) {
    for (unsigned repeat = 0; repeat < 10; ++repeat) {
        const json before = run_with(2, 3, 2 * repeat);
        const json after = run_with(1, 3, 2 * repeat + 1);
        EXPECT_EQ(different(before, after),
                  (std::set<std::string>{"nbd0 in service", "nbd0 read service, ms"}))
            << repeat;
    }
}

TEST(ReportComparison, MicrosecondsOfTheClockAreNoDifference) {
    EXPECT_TRUE(different(run_with(0.005, 5, 1), run_with(0.01, 5, 1)).empty());
}

TEST(ReportComparison, TwoRunsOfOneLoadAreTheSame) {
    for (unsigned repeat = 0; repeat < 10; ++repeat) {
        EXPECT_EQ(different(run_with(2, 3, 2 * repeat), run_with(2, 3, 2 * repeat + 1)),
                  std::set<std::string>())
            << repeat;
    }
}

TEST(ReportComparison, AFigureHasTheMeansOfBothRuns) {
    const auto all = compare(run_with(2, 3, 1).dump(), run_with(1, 3, 2).dump());
    const auto reads = std::ranges::find(all, "reads/s", &Compared::figure);
    ASSERT_NE(reads, all.end());
    EXPECT_NEAR(reads->before, 1000, 1e-6);
    const auto service = std::ranges::find(all, "read service, ms", &Compared::figure);
    ASSERT_NE(service, all.end());
    EXPECT_NEAR(service->before, 2, 0.2);
    EXPECT_NEAR(service->after, 1, 0.1);
}

TEST(ReportComparison, AReportMayBeHtmlOrJson) {
    const std::string data = run_with(2, 3, 1).dump();
    EXPECT_EQ(data_in(data), data);
    EXPECT_EQ(data_in("<p><script id=\"data\">" + data + "</script><script>1</script>"), data);
}

TEST(ReportComparison, ATextThatIsNoReportIsRefused) {
    const std::string good = run_with(2, 3, 1).dump();
    for (const char* text : {"", "{}", "[]", "{\"schema\":\"blkscope.report/1\"}", "<html>",
                             "{\"schema\":\"blkscope.report/1\",\"devices\":[1]}",
                             "{\"schema\":\"blkscope.report/1\",\"devices\":[{\"device\":\"nbd0\","
                             "\"samples\":[{\"reads\":\"x\"}]}]}"}) {
        EXPECT_THROW(static_cast<void>(compare(good, text)), std::invalid_argument) << text;
    }
}

// A run without any request, on a device of that name.
json idle_run(const std::string& device) {
    json run = run_with(2, 3, 1);
    run["devices"][0]["device"] = device;
    for (json& sample : run["devices"][0]["samples"]) {
        for (const char* key : {"reads", "writes", "readBytes", "writtenBytes", "actv"}) {
            sample[key] = 0;
        }
        sample["times"] = json::object();
    }
    return run;
}

TEST(ReportComparison, TheRatesOfAnIdleRunAreZero) {
    const std::string busy = run_with(2, 3, 1).dump();
    const std::string idle = idle_run("nbd0").dump();
    for (const bool is_first : {true, false}) {
        const auto all = is_first ? compare(idle, busy) : compare(busy, idle);
        const auto reads = std::ranges::find(all, "reads/s", &Compared::figure);
        ASSERT_NE(reads, all.end());
        EXPECT_EQ(is_first ? reads->before : reads->after, 0);
        EXPECT_NEAR(is_first ? reads->after : reads->before, 1000, 1e-6);
        EXPECT_TRUE(reads->differs);
    }
    const std::string text = comparison_text(compare(idle, idle));
    EXPECT_NE(text.find("nbd0             nothing to compare"), std::string::npos) << text;
}

TEST(ReportComparison, ADeviceThatOneReportLacksHasALine) {
    const json nbd0 = run_with(2, 3, 1);
    const json nbd1 = idle_run("nbd1");
    EXPECT_EQ(different(nbd0, nbd1),
              (std::set<std::string>{"nbd0 only in before", "nbd1 only in after"}));
    const std::string text = comparison_text(compare(nbd0.dump(), nbd1.dump()));
    EXPECT_NE(text.find("\nno device is in both reports\n"), std::string::npos) << text;
    json both = nbd0;
    both["devices"].push_back(nbd1["devices"][0]);
    EXPECT_EQ(different(nbd0, both), (std::set<std::string>{"nbd1 only in after"}));
    EXPECT_EQ(comparison_text(compare(nbd0.dump(), both.dump())).find("no device"),
              std::string::npos);
    const std::string page =
        comparison_document(nbd0.dump(), nbd1.dump(), compare(nbd0.dump(), nbd1.dump()));
    EXPECT_NE(page.find(R"("figure":"only in before","before":null)"), std::string::npos);
}

TEST(ReportComparison, ATextThatIsNestedDeeplyIsRefused) {
    const std::string good = run_with(2, 3, 1).dump();
    const std::string deep = R"({"schema":"blkscope.report/1","devices":[],"x":)" +
                             std::string(100'000, '[') + std::string(100'000, ']') + "}";
    EXPECT_THROW(static_cast<void>(compare(good, deep)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(comparison_document(good, deep, {})), std::invalid_argument);
}

TEST(ReportComparison, AForeignNameWritesNothingButTextToATerminal) {
    const std::string text = comparison_text({{.device = "a\x1b]0;x\x07", .figure = "reads/s"}});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\x07'), std::string::npos);
}

}  // namespace
}  // namespace blkscope::report
