#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "iostat/devices.hpp"
#include "tools/report/document.hpp"

namespace blkscope::report {
namespace {

using check::Verdict;
using Lines = std::vector<std::string>;

const check::Finding holds{.verdict = Verdict::holds, .line = "true: a < 1: nbd0 0"};
const check::Finding fails{.verdict = Verdict::fails,
                           .line = "false: b < 1: nbd0 3",
                           .condition = "b < 1",
                           .device = "nbd0",
                           .beyond = "2 (200 %) above the bound"};
const check::Finding missing{.verdict = Verdict::unmeasured,
                             .line = "nothing to measure: c < 1: nbd0 was idle"};

TEST(ReportOutcome, TheFailedConditionComesFirstWithWhatIsBeyondItsBound) {
    const Outcome outcome = outcome_of({.findings = {holds, fails, missing}});
    EXPECT_TRUE(outcome.is_failed);
    EXPECT_EQ(outcome.headline,
              "FAILED: 2 of 3 conditions do not hold: false: b < 1: nbd0 3, 2 (200 %) above the "
              "bound");
    EXPECT_EQ(outcome.lines,
              (Lines{"false: b < 1: nbd0 3, 2 (200 %) above the bound", missing.line, holds.line}));
}

TEST(ReportOutcome, NothingToMeasureIsAFailure) {
    EXPECT_EQ(outcome_of({.findings = {missing}}).headline,
              "FAILED: 1 of 1 condition does not hold: " + missing.line);
    const Outcome gaps = outcome_of({.gaps = {"nothing to measure: nbd1"}, .findings = {holds}});
    EXPECT_TRUE(gaps.is_failed);
    EXPECT_EQ(gaps.headline, "FAILED: not everything could be read");
    EXPECT_EQ(gaps.lines, (Lines{"nothing to measure: nbd1", holds.line}));
    EXPECT_FALSE(outcome_of({.gaps = {"nothing to measure: nbd1"}}).is_failed);
}

TEST(ReportOutcome, ACommandThatFailsIsAFailureToo) {
    EXPECT_EQ(outcome_of({.status = 3}).headline, "FAILED: the command ended with status 3");
    EXPECT_EQ(outcome_of({.status = 143, .findings = {holds}}).headline,
              "FAILED: the run was ended by signal 15; 1 of 1 conditions hold");
}

TEST(ReportOutcome, ARunThatHoldsPasses) {
    EXPECT_EQ(outcome_of({.findings = {holds, holds}}).headline, "PASSED: 2 of 2 conditions hold");
    EXPECT_EQ(outcome_of({}).headline, "ended well");
    EXPECT_FALSE(outcome_of({}).is_failed);
}

// A device that was created before the run, with errors of then, as it is at a moment of the run.
web::Look look_at(hrtime_t since, uint32_t soft_errors) {
    iostat::Device nbd0 = iostat::idle_device("nbd0");
    nbd0.snaptime += since;
    nbd0.errors = iostat::error_records();
    std::get<uint32_t>(nbd0.errors[0].value) = soft_errors;
    for (const char* name : {"read_total", "write_total", "model_lateness"}) {
        nbd0.histograms.emplace(name, iostat::times({{20'000'000, since > 0 ? 100U : 0U}}));
    }
    return {.time = nbd0.snaptime, .devices = {{.device = nbd0}}};
}

TEST(ReportOutcome, TheErrorsOfAChartAreOfItsInterval) {
    Recording recording(std::chrono::milliseconds(100));
    for (const hrtime_t second : {0, 1, 2, 3}) {
        recording.add(look_at(second * iostat::one_second, second < 2 ? 1000 : 1004));
    }
    const auto report = nlohmann::json::parse(json_document({}, recording));
    std::vector<double> errors;
    for (const auto& sample : report.at("devices").at(0).at("samples")) {
        errors.push_back(sample.at("errors").get<double>());
    }
    EXPECT_EQ(errors, (std::vector<double>{0, 4, 0}));
}

TEST(ReportOutcome, TheDataHasTheVerdictAndTheServersThatWereLate) {
    Recording recording(std::chrono::milliseconds(100));
    for (const hrtime_t second : {0, 1}) recording.add(look_at(second * iostat::one_second, 0));
    report::Run run{.findings = {fails}};
    run.late = late_servers(recording, run.findings);
    ASSERT_EQ(run.late.size(), 1u);
    EXPECT_TRUE(run.late[0].starts_with("nbd0: the server itself ended requests late: p99 "));
    const auto report = nlohmann::json::parse(json_document(run, recording));
    EXPECT_EQ(report.at("failed"), true);
    EXPECT_EQ(report.at("headline"), outcome_of(run).headline);
    EXPECT_EQ(report.at("late"), nlohmann::json(run.late));
    EXPECT_EQ(report.at("conditions").at(0).at("holds"), false);
    EXPECT_EQ(report.at("conditions").at(0).at("beyond"), fails.beyond);
    EXPECT_EQ(report.at("conditions").at(0).at("device"), "nbd0");
}

}  // namespace
}  // namespace blkscope::report
