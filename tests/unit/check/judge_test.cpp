#include "tools/check/judge.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "iostat/devices.hpp"

namespace blkscope::check {
namespace {

using iostat::one_second;
using iostat::times;

constexpr uint64_t ms = 1'000'000;

// A device between two looks: 200 requests before the first, and `requests` between both.
class CheckJudge : public testing::Test {
  protected:
    CheckJudge() {
        iostat::Device nbd0 = iostat::idle_device("nbd0");
        nbd0.module = "nbd";
        nbd0.errors = iostat::error_records();
        before_.time = nbd0.snaptime;
        before_.devices.push_back({.device = nbd0, .commands = {{"read_errors", 3}}});
        for (const char* name : {"read_total", "read_wait", "read_service", "write_total",
                                 "write_wait", "write_service", "flush_total"}) {
            old().emplace(name, times({{100 * ms, 200}}));
        }
        before_.devices[0].device.io.reads = 200;
        now_ = before_;
        now_.devices[0].device.snaptime += 2 * one_second;
    }

    iostat::Histograms& old() { return before_.devices[0].device.histograms; }
    iostat::Device& device() { return now_.devices[0].device; }

    // Adds requests of this time to the second look.
    void add(const std::string& histogram, uint64_t ns, uint64_t requests) {
        iostat::Histogram& to = device().histograms.at(histogram);
        to.counts[to.shape.index(ns)] += requests;
        *to.sum += ns * requests;
    }

    std::vector<Finding> judge_all(const std::string& condition) {
        return judge(parse_condition(condition), before_, now_);
    }
    std::string line_of(const std::string& condition) {
        const std::vector<Finding> findings = judge_all(condition);
        EXPECT_EQ(findings.size(), 1u) << condition;
        return findings.front().line;
    }
    Verdict verdict_on(const std::string& condition) {
        return judge_all(condition).front().verdict;
    }

    Look before_;
    Look now_;
};

TEST_F(CheckJudge, ATimeAtTheEdgeIsDecided) {
    add("read_service", 4'900'000, 1000);
    EXPECT_EQ(verdict_on("p99(nbd0.read.service) < 5ms"), Verdict::holds);
    EXPECT_EQ(line_of("p99(nbd0.read.service) < 5ms"),
              "true: p99(nbd0.read.service) < 5ms: nbd0 4.5ms to below 5ms, 1000 requests");
    add("read_service", 5'100'000, 10);
    EXPECT_EQ(verdict_on("p99(nbd0.read.service) < 5ms"), Verdict::holds);  // 10 of 1010
    add("read_service", 5'100'000, 1);
    EXPECT_EQ(verdict_on("p99(nbd0.read.service) < 5ms"), Verdict::fails);
    EXPECT_EQ(line_of("p99(nbd0.read.service) < 5ms"),
              "false: p99(nbd0.read.service) < 5ms: nbd0 5ms to below 5.5ms, 1011 requests");
}

TEST_F(CheckJudge, ABoundInsideTheBucketIsFalseBecauseItCannotBeTold) {
    add("read_service", 4'600'000, 1);
    for (const char* comparison : {"<", "<=", ">", ">=", "==", "!="}) {
        const std::string condition =
            std::string("max(nbd0.read.service) ") + comparison + " 4.7ms";
        EXPECT_EQ(verdict_on(condition), Verdict::fails) << condition;
        EXPECT_EQ(line_of(condition),
                  "cannot tell: " + condition + ": nbd0 4.5ms to below 5ms, 1 request");
    }
}

TEST_F(CheckJudge, EachComparisonHoldsForAllOfTheBucketOrForNone) {
    add("read_service", 4'600'000, 1);
    const std::vector<std::pair<std::string, Verdict>> all{
        {"< 5ms", Verdict::holds},    {"< 4.5ms", Verdict::fails}, {"<= 4999999ns", Verdict::holds},
        {"<= 4.4ms", Verdict::fails}, {"> 4.4ms", Verdict::holds}, {"> 5ms", Verdict::fails},
        {">= 4.5ms", Verdict::holds}, {">= 5ms", Verdict::fails},  {"!= 5ms", Verdict::holds},
        {"== 5ms", Verdict::fails}};
    for (const auto& [rest, verdict] : all) {
        EXPECT_EQ(verdict_on("max(nbd0.read.service) " + rest), verdict) << rest;
        EXPECT_EQ(line_of("max(nbd0.read.service) " + rest).find("cannot"), std::string::npos);
    }
}

TEST_F(CheckJudge, TheLastBucketHasNoUpperEdge) {
    add("read_service", 200 * 1000 * ms, 1);
    EXPECT_EQ(verdict_on("max(nbd0.read.service) < 900s"), Verdict::fails);
    EXPECT_EQ(line_of("max(nbd0.read.service) >= 100s"),
              "true: max(nbd0.read.service) >= 100s: nbd0 100s or more, 1 request");
}

TEST_F(CheckJudge, AMeanIsExact) {
    add("read_total", 4 * ms, 3);
    add("write_total", 8 * ms, 1);
    EXPECT_EQ(verdict_on("mean(nbd0) == 5ms"), Verdict::holds);
    EXPECT_EQ(line_of("mean(nbd0.read) < 4ms"),
              "false: mean(nbd0.read) < 4ms: nbd0 4ms, 3 requests");
    EXPECT_EQ(verdict_on("mean(nbd0.write.total) > 7.999ms"), Verdict::holds);
}

TEST_F(CheckJudge, AnIdleDeviceHoldsNoConditionOnTimesOrQueues) {
    for (const char* condition :
         {"p99(nbd0) < 5ms", "mean(nbd0.read) < 5ms", "max(nbd0.flush) < 5s", "wait(nbd0) < 1",
          "actv(nbd0) < 1", "busy(nbd0) < 50%"}) {
        EXPECT_EQ(verdict_on(condition), Verdict::unmeasured) << condition;
    }
    EXPECT_EQ(line_of("p99(nbd0) < 5ms"),
              "nothing to measure: p99(nbd0) < 5ms: nbd0 had no such request");
    EXPECT_EQ(line_of("wait(nbd0) < 1"), "nothing to measure: wait(nbd0) < 1: nbd0 was idle");
}

TEST_F(CheckJudge, OnAnIdleDeviceCountRateAndErrorsAreMeasured) {
    EXPECT_EQ(line_of("count(nbd0) == 0"), "true: count(nbd0) == 0: nbd0 0");
    EXPECT_EQ(line_of("rate(nbd0) > 1/s"), "false: rate(nbd0) > 1/s: nbd0 0/s, 0 requests");
    EXPECT_EQ(line_of("errors(nbd0) == 0"), "true: errors(nbd0) == 0: nbd0 0, 0 requests");
}

TEST_F(CheckJudge, CountsAndRatesAreOfTheTimeBetween) {
    device().io.reads += 30;
    device().io.writes += 10;
    add("flush_total", ms, 4);
    EXPECT_EQ(verdict_on("count(nbd0) == 40"), Verdict::holds);
    EXPECT_EQ(verdict_on("count(nbd0.write) == 10"), Verdict::holds);
    EXPECT_EQ(verdict_on("count(nbd0.flush) == 4"), Verdict::holds);
    EXPECT_EQ(verdict_on("rate(nbd0) == 20/s"), Verdict::holds);
    EXPECT_EQ(verdict_on("rate(nbd0.read) == 15"), Verdict::holds);
}

TEST_F(CheckJudge, CountersThatHaveWrappedAreSubtractedAllTheSame) {
    before_.devices[0].device.io.reads = 0xffffffff;
    device().io.reads = 4;
    EXPECT_EQ(verdict_on("count(nbd0.read) == 5"), Verdict::holds);
}

TEST_F(CheckJudge, ErrorsAreTheRequestsThatFailedBetweenTheLooks) {
    before_.devices[0].commands["write_errors"] = 1;
    now_.devices[0].commands = {{"read_errors", 8}, {"write_errors", 2}};
    EXPECT_EQ(verdict_on("errors(nbd0.read) == 5"), Verdict::holds);
    EXPECT_EQ(verdict_on("errors(nbd0) == 6"), Verdict::holds);
    EXPECT_EQ(line_of("errors(nbd0.trim) == 0"),
              "nothing to measure: errors(nbd0.trim) == 0: nbd0 does not count its errors by "
              "operation");
    before_.devices[0].commands.clear();
    EXPECT_EQ(line_of("errors(nbd0) == 0"),
              "nothing to measure: errors(nbd0) == 0: nbd0 has no errors by operation in its first "
              "look; see --save");
}

TEST_F(CheckJudge, RequestsThatWereRefusedAreErrorsOfNoOperation) {
    EXPECT_EQ(verdict_on("errors(nbd0) == 0"), Verdict::holds);
    std::get<uint32_t>(device().errors[12].value) += 50;
    EXPECT_EQ(line_of("errors(nbd0) == 0"), "false: errors(nbd0) == 0: nbd0 50, 0 requests");
    EXPECT_EQ(verdict_on("errors(nbd0.read) == 0"), Verdict::holds);
    now_.devices[0].commands["read_errors"] += 1;
    EXPECT_EQ(verdict_on("errors(nbd0) == 51"), Verdict::holds);
    before_.devices[0].device.errors = device().errors;
    EXPECT_EQ(verdict_on("errors(nbd0) == 1"), Verdict::holds);
    before_.devices[0].device.errors.clear();
    EXPECT_EQ(line_of("errors(nbd0) == 1"),
              "nothing to measure: errors(nbd0) == 1: nbd0 has its refused requests in one look "
              "only; see --save");
    device().errors.clear();  // a device without such a count
    EXPECT_EQ(verdict_on("errors(nbd0) == 1"), Verdict::holds);
}

TEST_F(CheckJudge, WithoutCountsByOperationTheErrorsAreThoseOfIostat) {
    before_.devices[0].commands.clear();
    now_.devices[0].commands.clear();
    std::get<uint32_t>(device().errors[0].value) += 1;
    std::get<uint32_t>(device().errors[1].value) += 2;
    std::get<uint32_t>(device().errors[2].value) += 4;
    EXPECT_EQ(verdict_on("errors(nbd0) == 7"), Verdict::holds);
    device().errors.clear();
    EXPECT_EQ(verdict_on("errors(nbd0) == 0"), Verdict::unmeasured);
}

TEST_F(CheckJudge, QueueLengthsAreThoseOfIostat) {
    device().io.reads += 4;
    device().io.wlentime += one_second;
    device().io.rlentime += 5 * one_second;
    device().io.rtime += one_second;
    EXPECT_EQ(verdict_on("wait(nbd0) == 0.5"), Verdict::holds);
    EXPECT_EQ(verdict_on("actv(nbd0) == 2.5"), Verdict::holds);
    EXPECT_EQ(line_of("busy(nbd0) < 50%"), "false: busy(nbd0) < 50%: nbd0 50%, 4 requests");
}

TEST_F(CheckJudge, ADeviceThatHangsIsNotIdle) {
    device().io.rlentime += 2 * one_second;
    device().io.rtime += 2 * one_second;
    EXPECT_EQ(line_of("busy(nbd0) < 90%"), "false: busy(nbd0) < 90%: nbd0 100%, 0 requests");
}

TEST_F(CheckJudge, WithoutADeviceThereIsNothingToMeasure) {
    EXPECT_EQ(
        line_of("errors(nbd7) == 0"),
        "nothing to measure: errors(nbd7) == 0: no device matches; 'blkscope list' shows those "
        "that are served");
    now_.devices.clear();
    EXPECT_EQ(line_of("errors(nbd0) == 0"),
              "nothing to measure: errors(nbd0) == 0: nbd0 was removed");
}

TEST_F(CheckJudge, ADeviceIsAlsoThatOfItsProvider) {
    before_.devices[0].device.provider = device().provider = 4711;
    EXPECT_EQ(verdict_on("errors(nbd0@4711) == 0"), Verdict::holds);
    EXPECT_EQ(verdict_on("errors(nbd*@4711) == 0"), Verdict::holds);
    EXPECT_EQ(verdict_on("errors(nbd0@12) == 0"), Verdict::unmeasured);
    before_.devices[0].device.name = device().name = "nbd0@4711";  // another came beside it
    EXPECT_EQ(verdict_on("errors(nbd0@4711) == 0"), Verdict::holds);
    EXPECT_EQ(verdict_on("errors(nbd0) == 0"), Verdict::holds);
}

TEST_F(CheckJudge, ADeviceThatWasMadeAnewIsNotMeasured) {
    device().crtime += 1;
    EXPECT_EQ(line_of("errors(nbd0) == 0"),
              "nothing to measure: errors(nbd0) == 0: nbd0 was removed and made anew");
}

TEST_F(CheckJudge, ANewDeviceIsMeasuredFromItsCreation) {
    before_.devices.clear();
    EXPECT_EQ(line_of("count(nbd0) >= 0"),
              "nothing to measure: count(nbd0) >= 0: nbd0 was not in the first look");
    device().crtime = before_.time + one_second;
    EXPECT_EQ(verdict_on("count(nbd0) == 200"), Verdict::holds);
    EXPECT_EQ(verdict_on("rate(nbd0) == 200"), Verdict::holds);
    EXPECT_EQ(verdict_on("errors(nbd0.read) == 3"), Verdict::holds);
    EXPECT_EQ(verdict_on("max(nbd0.read) >= 100ms"), Verdict::holds);
}

TEST_F(CheckJudge, HistogramsThatWereMadeAnewAreNotMeasured) {
    add("read_total", ms, 100);
    old().at("read_total").crtime = 5;
    EXPECT_EQ(line_of("p50(nbd0.read) < 5ms"),
              "nothing to measure: p50(nbd0.read) < 5ms: nbd0 counts anew in its histogram "
              "read_total");
    old().at("read_total").crtime = 0;  // a report does not have it
    EXPECT_EQ(verdict_on("p50(nbd0.read) < 5ms"), Verdict::holds);
    old().at("read_total").counts[3] = 1000;
    EXPECT_EQ(verdict_on("p50(nbd0.read) < 5ms"), Verdict::unmeasured);
    old().at("read_total").counts.clear();  // empty then
    EXPECT_EQ(verdict_on("p50(nbd0.read) < 200ms"), Verdict::holds);
    old().erase("read_total");
    EXPECT_EQ(verdict_on("p50(nbd0.read) < 5ms"), Verdict::unmeasured);
    device().histograms.clear();
    EXPECT_EQ(line_of("p50(nbd0) < 5ms"),
              "nothing to measure: p50(nbd0) < 5ms: nbd0 has no histogram read_total; see "
              "'kstat2adm enable blk:hist'");
}

TEST_F(CheckJudge, APatternHoldsForEachDeviceThatMatches) {
    for (const char* name : {"nbd1", "sd0", "nbd0,a"}) {
        Look* const looks[] = {&before_, &now_};
        for (Look* look : looks) {
            DeviceLook other = look->devices[0];
            other.device.name = name;
            look->devices.push_back(other);
        }
    }
    now_.devices[1].device.io.reads += 5;
    const std::vector<Finding> findings = judge_all("count(nbd*) == 0");
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].line, "true: count(nbd*) == 0: nbd0 0");
    EXPECT_EQ(findings[1].line, "false: count(nbd*) == 0: nbd1 5");
    EXPECT_EQ(judge_all("count(*) == 0").size(), 3u);
    EXPECT_EQ(line_of("count(nbd0,*) == 0"), "true: count(nbd0,*) == 0: nbd0,a 0");
}

TEST_F(CheckJudge, TwoProvidersMayHaveADeviceOfOneName) {
    Look* const looks[] = {&before_, &now_};
    for (Look* const look : looks) {
        look->devices.push_back(look->devices[0]);
        look->devices[0].device.name = "nbd0@7";
        look->devices[1].device.name = "nbd0@8";
        look->devices[1].device.crtime += one_second;
    }
    before_.devices[1].device.io.reads = 150;
    const std::vector<Finding> findings = judge_all("count(nbd0) == 0");
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].line, "true: count(nbd0) == 0: nbd0@7 0");
    EXPECT_EQ(findings[1].line, "false: count(nbd0) == 0: nbd0@8 50");
    EXPECT_EQ(line_of("count(nbd0@8) == 50"), "true: count(nbd0@8) == 50: nbd0@8 50");
}

TEST_F(CheckJudge, AProviderWithTheSameNameMayComeOrLeaveBetweenTheLooks) {
    DeviceLook other = now_.devices[0];
    other.device.name = "nbd0@8";
    other.device.crtime += one_second;
    now_.devices.push_back(other);
    device().name = "nbd0@7";
    std::vector<Finding> findings = judge_all("count(nbd0) == 0");
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].line, "true: count(nbd0) == 0: nbd0@7 0");
    EXPECT_EQ(findings[1].verdict, Verdict::unmeasured);
    std::swap(before_.devices, now_.devices);
    findings = judge_all("count(nbd0) == 0");
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].line, "nothing to measure: count(nbd0) == 0: nbd0@8 was removed");
    EXPECT_EQ(findings[1].line, "true: count(nbd0) == 0: nbd0 0");
    EXPECT_EQ(line_of("count(nbd0@7) == 0"), "true: count(nbd0@7) == 0: nbd0 0");
}

TEST_F(CheckJudge, BytesAreOfTheTimeBetween) {
    device().io.reads += 2;
    device().io.nread += 3 << 20;
    device().io.nwritten += 1 << 20;
    EXPECT_EQ(line_of("bps(nbd0) == 2M/s"),
              "true: bps(nbd0) == 2M/s: nbd0 2097152 bytes/s, 2 requests");
    EXPECT_EQ(verdict_on("bps(nbd0.read) == 1536K"), Verdict::holds);
    EXPECT_EQ(verdict_on("bps(nbd0.write) == 512K"), Verdict::holds);
}

TEST_F(CheckJudge, TheTailsPercentilesAreThoseOfTheBuckets) {
    add("read_total", ms, 95);
    add("read_total", 20 * ms, 5);
    EXPECT_EQ(verdict_on("p95(nbd0.read) < 1.5ms"), Verdict::holds);
    EXPECT_EQ(verdict_on("p99.99(nbd0.read) >= 20ms"), Verdict::holds);
}

TEST_F(CheckJudge, AnUnknownOperationIsNoMissingDevice) {
    EXPECT_EQ(line_of("count(nbd0.reads) > 0"),
              "nothing to measure: count(nbd0.reads) > 0: no such operation reads; did you mean "
              "read?");
    EXPECT_THROW(require_known_words({parse_condition("count(nbd*.reads) > 0")}, now_),
                 std::invalid_argument);
    require_known_words({parse_condition("count(nbd7.reads) > 0")}, now_);  // may come later
}

TEST_F(CheckJudge, AFailureSaysByHowMuch) {
    add("read_service", 5'100'000, 100);
    add("read_total", 4 * ms, 3);
    const auto beyond = [&](const char* condition) { return judge_all(condition).front().beyond; };
    EXPECT_EQ(beyond("p99(nbd0.read.service) < 2ms"), "at least 3ms (150 %) above the bound");
    EXPECT_EQ(beyond("p99(nbd0.read.service) < 5ms"), "at the bound");
    EXPECT_EQ(beyond("p99(nbd0.read.service) > 11ms"), "at least 5.5ms (50 %) below the bound");
    EXPECT_EQ(beyond("p99(nbd0.read.service) < 5.2ms"), "the bound is inside the bucket");
    EXPECT_EQ(beyond("mean(nbd0.read) < 3.2ms"), "800us (25 %) above the bound");
    EXPECT_EQ(beyond("mean(nbd0.read) < 1us"), "3.999ms (4e+03 times) above the bound");
    EXPECT_EQ(beyond("mean(nbd0.read) != 4ms"), "at the bound");
    EXPECT_EQ(beyond("mean(nbd0.read) < 5ms"), "");
    now_.devices[0].commands["read_errors"] += 2;
    EXPECT_EQ(beyond("errors(nbd0) == 0"), "2 above the bound");
}

// Of a server that is late, the lateness is in the times of its requests.
TEST_F(CheckJudge, AServerThatIsLateItselfIsToldOf) {
    add("read_total", ms, 1000);
    const auto late = [&](const char* condition) { return judge_all(condition).front().late; };
    EXPECT_EQ(late("p99(nbd0.read) < 5ms"), "");
    EXPECT_EQ(
        line_of("late(nbd0) < 1ms"),
        "nothing to measure: late(nbd0) < 1ms: nbd0 has no model, so nothing plans the end of "
        "its requests");
    old().emplace("model_lateness", times({{100 * ms, 200}}));
    device().histograms.emplace("model_lateness", times({{100 * ms, 200}}));
    add("model_lateness", 5'000, 1000);
    EXPECT_EQ(late("p99(nbd0.read) < 5ms"), "");  // each machine needs some microseconds
    EXPECT_EQ(verdict_on("late(nbd0) < 1ms"), Verdict::holds);
    add("read_total", 6 * ms, 20);
    add("model_lateness", 4'700'000, 20);
    EXPECT_EQ(late("p50(nbd0.read) < 5ms"), "");  // half of the requests were in time
    EXPECT_EQ(late("count(nbd0.read) > 0"), "");
    EXPECT_EQ(late("p99(nbd0.read) < 5ms"),
              "nbd0: the server itself ended requests late: p99 5ms, max 5ms, of 1020 requests, so "
              "figures above the model's by up to 5ms are the machine's");
    EXPECT_EQ(line_of("late(nbd0) < 1ms"),
              "false: late(nbd0) < 1ms: nbd0 4.5ms to below 5ms, 1020 requests");
    EXPECT_EQ(late("mean(nbd0.read) < 5ms"), "");  // 0.1 s of 1.1 s
    EXPECT_EQ(late("rate(nbd0.read) > 1"), "");
    add("read_total", 6 * ms, 20);
    add("model_lateness", 4'700'000, 20);
    EXPECT_NE(late("mean(nbd0.read) < 5ms"), "");
}

// The only request with a model is late, among a thousand without one.
TEST_F(CheckJudge, ALateRequestThatShowsInNoFigureIsNotToldOf) {
    add("read_total", ms, 1000);
    old().emplace("model_lateness", times({}));
    device().histograms.emplace("model_lateness", times({}));
    add("model_lateness", 50 * ms, 1);
    const auto late = [&](const char* condition) { return judge_all(condition).front().late; };
    EXPECT_EQ(late("p99(nbd0.read) < 5ms"), "");
    EXPECT_EQ(late("mean(nbd0.read) < 5ms"), "");
    add("read_total", 51 * ms, 1);
    EXPECT_EQ(late("p99.9(nbd0.read) < 5ms"), "");
    EXPECT_EQ(
        late("max(nbd0.read) < 5ms").find("of 1 request, so"),
        std::string("nbd0: the server itself ended requests late: p99 55ms, max 55ms, ").size());
}

TEST_F(CheckJudge, AHostileNameStaysInItsLine) {
    before_.devices[0].device.name = device().name = "nbd\n0\x1b[2J";
    EXPECT_EQ(line_of("count(nbd*) == 0"), "true: count(nbd*) == 0: \"nbd\\n0\\u001b[2J\" 0");
}

}  // namespace
}  // namespace blkscope::check
