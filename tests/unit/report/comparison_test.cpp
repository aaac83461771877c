#include "tools/report/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kstat/histogram/buckets.hpp"
#include "trace/file.hpp"

namespace blkscope::report {
namespace {

using nlohmann::json;

std::vector<Compared> rows_of(const std::string& before, const std::string& after) {
    return report::compare({{"before.json", before}}, {{"after.json", after}}).rows;
}
std::string refusal(const std::string& before, const std::string& after) try {
    static_cast<void>(rows_of(before, after));
    return "";
} catch (const std::invalid_argument& why) {
    return why.what();
}

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
    for (const Compared& one : rows_of(before.dump(), after.dump())) {
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
    const auto all = rows_of(run_with(2, 3, 1).dump(), run_with(1, 3, 2).dump());
    const auto reads = std::ranges::find(all, "reads/s", &Compared::figure);
    ASSERT_NE(reads, all.end());
    EXPECT_NEAR(reads->before.value, 1000, 1e-6);
    const auto service = std::ranges::find(all, "read service, ms", &Compared::figure);
    ASSERT_NE(service, all.end());
    EXPECT_NEAR(service->before.value, 2, 0.2);
    EXPECT_NEAR(service->after.value, 1, 0.1);
}

TEST(ReportComparison, AReportMayBeHtmlOrJson) {
    const std::string data = run_with(2, 3, 1).dump();
    const auto shown = comparison_text(rows_of(data, data));
    EXPECT_EQ(comparison_text(
                  rows_of(data, "<p><script id=\"data\">" + data + "</script><script>1</script>")),
              shown);
    EXPECT_EQ(comparison_text(rows_of("\xef\xbb\xbf" + data, data)), shown);
}

TEST(ReportComparison, AFileWithoutAReportIsNamed) {
    const std::string good = run_with(2, 3, 1).dump();
    const std::map<std::string, std::string> why{
        {"", "no report of blkscope is inside; it is empty"},
        {"{}",
         "no report of blkscope is inside; it is a text of JSON, but none that blkscope knows"},
        {"[]",
         "no report of blkscope is inside; it is a text of JSON, but none that blkscope knows"},
        {"a text\n", "no report of blkscope is inside"},
        {"\x1f\x8b\b",
         "no report of blkscope is inside; it is compressed with gzip; unpack it first"},
        {"op,offset,bytes,received_ns\nread,0,512,1\n",
         "no report of blkscope is inside; it is a trace, which 'blkscope explain' and 'blkscope "
         "predict' read"},
        {trace::encode_file({}),
         "no report of blkscope is inside; it is a trace, which 'blkscope explain' and 'blkscope "
         "predict' read"},
        {"{\"schema\":\"blkscope.report/1\",\"devices\":[", "its report is cut off or damaged"},
        {"{\"schema\":\"blkscope.report/1\"}", "its report is not whole"},
        {"<html>", "no report of blkscope is inside; it is a page of HTML"},
        {"{\"schema\":\"blkscope.report/1\",\"devices\":[1]}", "its report is not whole"},
        {"{\"schema\":7}",
         "no report of blkscope is inside; it is a text of JSON, but none that blkscope knows"},
        {"{\"schema\":\"blkscope.report/1\",\"devices\":[{\"device\":\"nbd0\","
         "\"samples\":[{\"reads\":\"x\"}]}]}",
         "its report is not whole"}};
    for (const auto& [text, reason] : why) {
        EXPECT_EQ(refusal(good, text), "report: after.json: " + reason);
        EXPECT_EQ(refusal(text, good), "report: before.json: " + reason);
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
        const auto all = is_first ? rows_of(idle, busy) : rows_of(busy, idle);
        const auto reads = std::ranges::find(all, "reads/s", &Compared::figure);
        ASSERT_NE(reads, all.end());
        EXPECT_EQ(is_first ? reads->before.value : reads->after.value, 0);
        EXPECT_NEAR(is_first ? reads->after.value : reads->before.value, 1000, 1e-6);
        EXPECT_TRUE(reads->differs);
    }
    const std::string text = comparison_text(rows_of(idle, idle));
    EXPECT_NE(text.find("nbd0             nothing to compare"), std::string::npos) << text;
}

TEST(ReportComparison, ADeviceThatOneReportLacksHasALine) {
    const json nbd0 = run_with(2, 3, 1);
    const json nbd1 = idle_run("nbd1");
    EXPECT_EQ(different(nbd0, nbd1),
              (std::set<std::string>{"nbd0 only in before", "nbd1 only in after"}));
    const std::string text = comparison_text(rows_of(nbd0.dump(), nbd1.dump()));
    EXPECT_NE(text.find("\nno device is in both reports\n"), std::string::npos) << text;
    json both = nbd0;
    both["devices"].push_back(nbd1["devices"][0]);
    EXPECT_EQ(different(nbd0, both), (std::set<std::string>{"nbd1 only in after"}));
    EXPECT_EQ(comparison_text(rows_of(nbd0.dump(), both.dump())).find("no device"),
              std::string::npos);
    const std::string page =
        comparison_data(report::compare({{"a.json", nbd0.dump()}}, {{"b.json", nbd1.dump()}}), {});
    EXPECT_NE(page.find(R"("figure":"only in before","before":null)"), std::string::npos);
}

TEST(ReportComparison, ATextThatIsNestedDeeplyIsRefused) {
    const std::string good = run_with(2, 3, 1).dump();
    const std::string deep = R"({"schema":"blkscope.report/1","devices":[],"x":)" +
                             std::string(100'000, '[') + std::string(100'000, ']') + "}";
    EXPECT_EQ(refusal(good, deep), "report: after.json: its report is cut off or damaged");
}

TEST(ReportComparison, AForeignNameWritesNothingButTextToATerminal) {
    const std::string text = comparison_text({{.device = "a\x1b]0;x\x07", .figure = "reads/s"}});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\x07'), std::string::npos);
}

// Samples of 100 ms with times of a distribution, in the buckets of the histograms.
json samples_of(const std::function<double()>& draw_ms, int samples, int requests) {
    const kstat2::Buckets shape(KSTAT2_NVHIST_LOG10_LIN, 3, 10, 20);
    json all = json::array();
    for (int i = 0; i < samples; ++i) {
        std::map<uint32_t, uint64_t> counts;
        double sum_ns = 0;
        for (int k = 0; k < requests; ++k) {
            const double ns = draw_ms() * 1e6;
            sum_ns += ns;
            ++counts[shape.index(static_cast<uint64_t>(ns))];
        }
        json buckets = json::array();
        for (const auto& [index, count] : counts) {
            buckets.push_back({shape.lower(index), shape.lower(index + 1), count});
        }
        all.push_back({{"elapsed", 0.1},
                       {"reads", 10 * requests},
                       {"writes", 0},
                       {"readBytes", 40960 * requests},
                       {"writtenBytes", 0},
                       {"wait", 0},
                       {"actv", sum_ns / 1e8},
                       {"times", {{"read_total", {sum_ns, requests}}}},
                       {"requests", {{"read", std::move(buckets)}}}});
    }
    return all;
}

json report_with(json samples) {
    return {{"schema", "blkscope.report/1"},
            {"command", {"load"}},
            {"began", 1},
            {"seconds", 6.0},
            {"devices", {{{"device", "nbd0"}, {"samples", std::move(samples)}}}}};
}

json exponential_run(double mean_ms, std::mt19937& random) {
    std::exponential_distribution<double> exponential(1 / mean_ms);
    return report_with(samples_of([&] { return exponential(random); }, 60, 100));
}

const Compared& row(const std::vector<Compared>& all, const std::string& figure) {
    const auto found = std::ranges::find(all, figure, &Compared::figure);
    if (found == all.end()) throw std::runtime_error("no row " + figure);
    return *found;
}

// The true percentile of an exponential distribution is -ln(1 - p) means.
TEST(ReportComparison, ThePercentilesIntervalHasTheTrueOne) {
    std::mt19937 random(20261129);
    int missed = 0;
    for (int repeat = 0; repeat < 200; ++repeat) {
        const json samples = exponential_run(2, random)["devices"][0]["samples"];
        for (const auto& [p, quantile] : {std::pair{kstat2::p50, 0.5}, {kstat2::p99, 0.99}}) {
            const auto seen = percentile_of(samples, "read", p).value();
            const double truth_ns = -std::log(1 - quantile) * 2e6;
            if (truth_ns < seen.low || truth_ns > seen.high) ++missed;
        }
    }
    EXPECT_LE(missed, 4);  // of 400; the level is 99.5 %, and the buckets are wider than that
}

// Ten requests in a row that are alike are as good as one.
TEST(ReportComparison, RequestsThatAreAlikeWidenTheInterval) {
    std::mt19937 random(20261129);
    std::exponential_distribution<double> exponential(0.5);
    const auto width = [&](int alike) {
        int left = 0;
        double drawn = 0;
        const json samples = samples_of(
            [&] {
                if (left == 0) drawn = exponential(random);
                left = left == 0 ? alike - 1 : left - 1;
                return drawn;
            },
            60, 200);
        const auto seen = mean_of(
            samples,
            [](const json& one, const char* key) {
                return Sum{one.at("times").at(key).at(0).get<double>(),
                           one.at("times").at(key).at(1).get<double>()};
            },
            "read_total");
        return seen->high - seen->low;
    };
    EXPECT_GT(width(100), 3 * width(1));
}

TEST(ReportComparison, OneServerTwiceIsNoise) {
    std::mt19937 random(20261129);
    int alarms = 0;
    for (int pair = 0; pair < 100; ++pair) {
        const auto all =
            rows_of(exponential_run(2, random).dump(), exponential_run(2, random).dump());
        alarms += static_cast<int>(std::ranges::count_if(all, &Compared::differs));
        EXPECT_FALSE(gate(all, 0).is_failed && !std::ranges::any_of(all, &Compared::differs));
    }
    EXPECT_EQ(alarms, 0);
}

TEST(ReportComparison, AServerThatIsSlowerByAFifthIsSeen) {
    std::mt19937 random(20261129);
    for (int pair = 0; pair < 20; ++pair) {
        const auto all =
            rows_of(exponential_run(2, random).dump(), exponential_run(2.4, random).dump());
        EXPECT_TRUE(row(all, "read total, ms").differs);
        EXPECT_TRUE(gate(all, 0.1).is_failed) << gate(all, 0.1).headline;
        EXPECT_FALSE(gate(all, 0.5).is_failed) << gate(all, 0.5).headline;
    }
}

// Runs on a machine whose speed is another one in each run.
std::vector<SavedReport> drifting_runs(double mean_ms, int runs, std::mt19937& random) {
    std::normal_distribution<double> drift(1, 0.05);
    std::vector<SavedReport> side;
    for (int i = 0; i < runs; ++i) {
        side.push_back({"run.json", exponential_run(mean_ms * drift(random), random).dump()});
    }
    return side;
}

TEST(ReportComparison, TheSpreadOfSeveralRunsIsNoDifference) {
    std::mt19937 random(20261129);
    int alarms_of_pairs = 0;
    for (int pair = 0; pair < 8; ++pair) {
        const auto before = drifting_runs(2, 4, random);
        const auto after = drifting_runs(2, 4, random);
        const auto of_all = report::compare(before, after).rows;
        EXPECT_FALSE(std::ranges::any_of(of_all, &Compared::differs)) << comparison_text(of_all);
        const auto of_one = report::compare({before[0]}, {after[0]}).rows;
        alarms_of_pairs += std::ranges::any_of(of_one, &Compared::differs) ? 1 : 0;
    }
    EXPECT_GT(alarms_of_pairs, 0);  // one run each cannot know
}

TEST(ReportComparison, SeveralRunsSeeADifferenceThatIsLargerThanTheirSpread) {
    std::mt19937 random(20261129);
    for (int pair = 0; pair < 4; ++pair) {
        const auto all =
            report::compare(drifting_runs(2, 5, random), drifting_runs(2.8, 5, random));
        EXPECT_TRUE(row(all.rows, "read total, ms").differs) << comparison_text(all.rows);
        EXPECT_TRUE(gate(all.rows, 0.1).is_failed);
        EXPECT_EQ(all.before_runs, 5u);
    }
}

// Student's t of 6 degrees of freedom at 99.5 % is 4.317.
TEST(ReportComparison, TheIntervalOfSeveralRunsIsThatOfStudent) {
    const auto exact = [](double value) { return Estimate{value, value, value}; };
    const std::vector<Estimate> before{exact(9), exact(10), exact(11), exact(10)};
    const std::vector<Estimate> after{exact(20), exact(20), exact(20), exact(20)};
    const Spread spread = spread_of(before, after);
    EXPECT_EQ(spread.freedom, 6u);
    EXPECT_NEAR(spread.deviation, std::sqrt(2.0 / 6), 1e-12);
    const Estimate seen = of_runs(before, spread);
    EXPECT_EQ(seen.value, 10);
    EXPECT_NEAR(seen.high - 10, 4.317 * std::sqrt(2.0 / 6) / 2, 1e-9);
    const Estimate one = of_runs({Estimate{5, 4, 7}}, spread_of({exact(5)}, {exact(6)}));
    EXPECT_EQ(one.low, 4);  // no side has two runs
    EXPECT_EQ(one.high, 7);
}

// The edge of two buckets may be between two runs that differ by nothing.
TEST(ReportComparison, NeighbouringBucketsAreNoDifference) {
    const auto all = rows_of(report_with(samples_of([] { return 0.99999; }, 60, 100)).dump(),
                             report_with(samples_of([] { return 1.00001; }, 60, 100)).dump());
    EXPECT_FALSE(std::ranges::any_of(all, &Compared::differs)) << comparison_text(all);
    const auto apart = rows_of(report_with(samples_of([] { return 1.2; }, 60, 100)).dump(),
                               report_with(samples_of([] { return 2.2; }, 60, 100)).dump());
    for (const char* figure : {"read p50, ms", "read p99, ms", "read total, ms"}) {
        EXPECT_TRUE(row(apart, figure).differs) << figure;
    }
}

TEST(ReportComparison, TooFewRequestsTellNoTail) {
    std::mt19937 random(20261129);
    const json samples = exponential_run(2, random)["devices"][0]["samples"];
    json few = json::array({samples[0], samples[1]});
    EXPECT_TRUE(std::isinf(percentile_of(few, "read", kstat2::p999)->high));
    EXPECT_FALSE(percentile_of(json::array({samples[0]}), "read", kstat2::p50));
    EXPECT_FALSE(percentile_of(samples, "flush", kstat2::p50));
}

// 0.001 ms and 14 ms: the wait of no request and that of a queue.
TEST(ReportComparison, ABaseOfNearlyZeroHasNoPercent) {
    const auto line = [](double before, double after) {
        return comparison_text({{.device = "nbd0",
                                 .figure = "read wait, ms",
                                 .before = {before, before, before},
                                 .after = {after, after, after},
                                 .distance_min = 0.02}});
    };
    EXPECT_NE(line(0.001, 14).find("from ~0"), std::string::npos);
    EXPECT_EQ(line(0.001, 14).find('%'), std::string::npos);
    EXPECT_EQ(line(0, 0.01).find('%'), std::string::npos);
    EXPECT_NE(line(0.05, 14).find("280 times"), std::string::npos) << line(0.05, 14);
    EXPECT_NE(line(10, 12.5).find("+25.0 %"), std::string::npos);
    EXPECT_NE(line(10, 0).find("-100.0 %"), std::string::npos);
}

TEST(ReportComparison, AServerThatWasLateInARunIsToldOf) {
    std::mt19937 random(20261129);
    json after = exponential_run(2, random);
    after["late"] = {"nbd0: the server itself ended requests late"};
    const std::string before = exponential_run(2, random).dump();
    const SavedReport good{"good.json", before};
    const SavedReport late{"late.json", after.dump()};
    EXPECT_EQ(report::compare({good}, {late}).late,
              std::vector<std::string>{"after: nbd0: the server itself ended requests late"});
    EXPECT_TRUE(report::compare({good}, {good}).late.empty());
    EXPECT_EQ(report::compare({good, late}, {good}).late,
              std::vector<std::string>{"before 2: nbd0: the server itself ended requests late"});
}

TEST(ReportComparison, AShareIsAPercentage) {
    EXPECT_EQ(slower_share("10%"), 0.1);
    EXPECT_EQ(slower_share("2.5 %"), 0.025);
    for (const char* text : {"", "10", "%", "-1%", "10%%", "ten%", "nan%", "1e3%"}) {
        EXPECT_FALSE(slower_share(text)) << text;
    }
}

// A figure with an interval of a fifth of it on either side does not show a tenth.
TEST(ReportComparison, AGateTellsWhatNoiseCouldHide) {
    const auto figure = [](double half) {
        const Estimate value{10, 10 - half, 10 + half};
        return Compared{.device = "nbd0",
                        .figure = "read total, ms",
                        .before = value,
                        .after = value,
                        .distance_min = 0.01,
                        .worse = Worse::more};
    };
    EXPECT_EQ(gate({figure(0.2), figure(0.4)}, 0.1).headline,
              "PASSED: nothing is slower by more than 10 %");
    const Gate noisy = gate({figure(0.2), figure(2)}, 0.1);
    EXPECT_FALSE(noisy.is_failed);
    EXPECT_EQ(noisy.headline,
              "PASSED: nothing is slower by more than 10 %, but noise could hide it in 1 of 2 "
              "figures: run for longer");
}

TEST(ReportComparison, AGateDoesNotPassWithNothingToCompare) {
    std::mt19937 random(20261129);
    const json busy = exponential_run(2, random);
    const auto verdict = [](const json& before, const json& after) {
        return gate(rows_of(before.dump(), after.dump()), 0.1);
    };
    EXPECT_TRUE(verdict(idle_run("nbd0"), idle_run("nbd0")).is_failed);
    EXPECT_TRUE(verdict(busy, idle_run("nbd1")).is_failed);
    EXPECT_TRUE(verdict(busy, idle_run("nbd0")).is_failed);  // its rate fell to 0
    EXPECT_TRUE(
        verdict(busy, busy).headline.starts_with("PASSED: nothing is slower by more than 10 %"));
    const SavedReport saved{"busy.json", busy.dump()};
    const std::string data =
        comparison_data(report::compare({saved}, {saved}), Gate{true, "FAILED: it is"});
    EXPECT_EQ(json::parse(data).at("failed"), true);
    EXPECT_EQ(json::parse(data).at("headline"), "FAILED: it is");
}

}  // namespace
}  // namespace blkscope::report
