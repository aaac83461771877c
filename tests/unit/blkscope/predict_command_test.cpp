// blkscope predict: its command line, its figures against theory, and its reports.
#include "tools/blkscope/predict_command.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "../failure.hpp"
#include "trace/file.hpp"
#include "trace/formats.hpp"
#include "trace/model_state.hpp"

namespace blkscope {
namespace {

using Strings = std::vector<std::string>;

PredictCommand drawn(const std::string& arrivals, const std::string& model, uint32_t depth) {
    PredictCommand command;
    command.arrivals = arrivals;
    command.model = model;
    command.queue_depth = depth;
    return command;
}

std::string refusal(const PredictCommand& command) {
    return failure_of([&] { return run_scenario(scenario_of(command)); });
}

std::string text_of(const PredictCommand& command) {
    const Scenario scenario = scenario_of(command);
    return predicted_text(scenario, run_scenario(scenario));
}

/// A file that is removed with the object.
class TraceFile {
  public:
    explicit TraceFile(const std::string& content)
        : path_(std::filesystem::temp_directory_path() /
                ("predict-" + std::to_string(getpid()) + "-" + std::to_string(++files))) {
        std::ofstream(path_, std::ios::binary) << content;
    }
    explicit TraceFile(const trace::Trace& trace) : TraceFile(trace::encode_file(trace)) {}
    ~TraceFile() { std::filesystem::remove(path_); }
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    [[nodiscard]] PredictCommand command() const {
        PredictCommand command;
        command.trace = path_;
        return command;
    }

  private:
    static inline int files = 0;
    std::filesystem::path path_;
};

/// Reads of a millisecond each, which arrive at even gaps. One runs at a time.
trace::Trace trace_of(int count, int64_t gap_ns) {
    trace::Trace trace{.properties = {{"size_bytes", "1048576"},
                                      {"queue_depth", "1"},
                                      {"seed", "9"},
                                      {"model", "read=const:1ms"},
                                      {"state_ns", "1"}},
                       .requests = {}};
    int64_t free = 0;
    for (int i = 0; i < count; ++i) {
        const int64_t at = 1'000'000'000 + i * gap_ns;
        free = std::max(at, free) + 1'000'000;
        trace.requests.push_back({.queued = at,
                                  .started = free - 1'000'000,
                                  .finished = free,
                                  .replied = free,
                                  .drawn_ns = 1'000'000,
                                  .bytes = 4096});
    }
    return trace;
}

// ---- Theory ----

kstat_io_t predicted_io(const PredictCommand& command) {
    return run_scenario(scenario_of(command)).front().figures.io;
}

double mean_ms(hrtime_t length_time, const kstat_io_t& io) {
    return static_cast<double>(length_time) / (io.reads + io.writes) / 1e6;
}

TEST(Predict, PoissonArrivalsAtOneExponentialServerWaitAsTheorySays) {
    PredictCommand command = drawn("poisson:800", "read=exp:1ms", 1);
    command.duration = "300s";  // the mean wait has a standard error of 2.3 %
    const kstat_io_t io = predicted_io(command);
    EXPECT_NEAR(io.reads, 240'000, 2'000);
    EXPECT_NEAR(mean_ms(io.wlentime, io), 4, 4 * 0.09);
    EXPECT_NEAR(mean_ms(io.rlentime, io), 1, 0.01);
}

TEST(Predict, PoissonArrivalsAtOneConstantServerWaitHalfOfThat) {
    PredictCommand command = drawn("poisson:800", "read=const:1ms", 1);
    command.duration = "300s";
    const kstat_io_t io = predicted_io(command);
    EXPECT_NEAR(mean_ms(io.wlentime, io), 2, 2 * 0.09);
    EXPECT_DOUBLE_EQ(mean_ms(io.rlentime, io), 1);
}

TEST(Predict, FourServersWaitAsErlangSays) {
    PredictCommand command = drawn("poisson:3200", "read=exp:1ms", 4);
    command.duration = "100s";
    const kstat_io_t io = predicted_io(command);
    EXPECT_NEAR(mean_ms(io.wlentime, io), 0.7455, 0.7455 * 0.09);
}

TEST(Predict, AClosedLoopHasTheRateOfItsServers) {
    PredictCommand command;
    command.closed = 8;
    command.model = "read=const:1ms,servers=2";
    command.duration = "2s";
    const PredictedRun run = run_scenario(scenario_of(command)).front();
    EXPECT_EQ(run.figures.requests, 8U + 2 * 1999);
}

TEST(Predict, AMixHasItsShares) {
    PredictCommand command = drawn("even:10000", "all=const:1us", 4);
    command.mix = "read=7,write=3";
    command.bytes = "8K";
    command.size = "1G";
    command.duration = "10s";
    const kstat_io_t io = predicted_io(command);
    EXPECT_EQ(io.reads + io.writes, 100'000U);
    EXPECT_NEAR(io.reads, 70'000, 1'000);
    EXPECT_EQ(io.nwritten, uint64_t{io.writes} * 8192);
}

// ---- A trace ----

TEST(Predict, ATraceHasTheDeviceOfItsHeader) {
    const TraceFile file(trace_of(100, 500'000));
    const Scenario scenario = scenario_of(file.command());
    EXPECT_EQ(scenario.setting.queue_depth, 1U);
    EXPECT_EQ(scenario.setting.size_bytes, 1'048'576U);
    EXPECT_EQ(scenario.setting.behaviour.seed, 9U);
    const PredictedRun run = run_scenario(scenario).front();
    const auto recorded = virtual_time::account(scenario.requests, 1 << 20);
    EXPECT_EQ(run.figures.io.wlentime, recorded.io.wlentime);
    EXPECT_EQ(run.figures.io.rlentime, recorded.io.rlentime);
    EXPECT_EQ(run.figures.elapsed(), recorded.elapsed());
}

// csv keeps what our own file keeps, so the same figures come of it.
TEST(Predict, ATraceAsCsvPredictsTheSame) {
    trace::Trace trace = trace_of(100, 500'000);
    trace.properties["size_bytes"] = "67108864";
    for (size_t i = 0; i < trace.requests.size(); ++i)
        trace.requests[i].offset = i * 7919 % 16384 * 4096;
    const TraceFile ours(trace);
    const TraceFile csv(trace::to_csv(trace));
    for (const char* model : {"", "hdd7200"}) {
        PredictCommand one = ours.command();
        PredictCommand other = csv.command();
        one.model = other.model = model;
        EXPECT_EQ(text_of(one), text_of(other)) << model;
        EXPECT_EQ(scenario_of(one).warnings, scenario_of(other).warnings) << model;
    }
}

TEST(Predict, AModelThatNeedsTheSizeRefusesWithoutOne) {
    const TraceFile file("op,offset,bytes,received_ns\nread,0,512,1000\nread,4096,512,2000\n");
    PredictCommand command = file.command();
    command.model = "hdd7200";
    EXPECT_EQ(refusal(command),
              "predict: the times of a disk with a head depend on its size, and the trace does not "
              "say it; give --size");
    command.size = "1G";
    EXPECT_EQ(scenario_of(command).setting.size_bytes, uint64_t{1} << 30);
    command.size.clear();
    command.model = "all=const:1ms";
    const Scenario scenario = scenario_of(command);
    const auto report = nlohmann::json::parse(predicted_json(scenario, run_scenario(scenario)));
    EXPECT_TRUE(report.at("size_bytes").is_null());
    const auto is_of_depth = [](const std::string& warning) {
        return warning.find("queue depth; it is taken to be 128") != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(scenario.warnings, is_of_depth));
}

TEST(Predict, TheCommandLineReplacesTheHeader) {
    const TraceFile file(trace_of(100, 500'000));
    PredictCommand command = file.command();
    command.model = "read=const:100us";
    command.queue_depth = 3;
    command.seed = 4;
    command.size = "1G";
    const Scenario scenario = scenario_of(command);
    EXPECT_EQ(scenario.setting.queue_depth, 3U);
    EXPECT_EQ(scenario.setting.size_bytes, uint64_t{1} << 30);
    EXPECT_EQ(scenario.setting.behaviour.seed, 4U);
    EXPECT_EQ(run_scenario(scenario).front().figures.io.wlentime, 0);
}

TEST(Predict, ARecordingWithUnknownTimesIsWarnedOf) {
    trace::Trace trace = trace_of(100, 3'000'000);
    for (size_t i = 0; i < 40; ++i) {
        trace.requests[i].finished = trace.requests[i].replied = 0;
    }
    const TraceFile file(trace);
    EXPECT_EQ(scenario_of(file.command()).warnings,
              (Strings{"40 of 100 requests have no known end: no figure has how long they took",
                       "the line 'recorded' is of the 60 of 100 requests whose start and end are "
                       "known"}));
}

TEST(Predict, OfAClosedLoopIsWarnedOf) {
    const TraceFile closed(trace_of(100, 1'000'000));  // the next comes when one has ended
    const Scenario scenario = scenario_of(closed.command());
    ASSERT_EQ(scenario.warnings.size(), 1U);
    EXPECT_NE(scenario.warnings.front().find("--closed 1"), std::string::npos);
    PredictCommand command = closed.command();
    command.closed = 1;
    EXPECT_EQ(scenario_of(command).warnings, Strings{});
    const TraceFile open(trace_of(100, 3'000'000));
    EXPECT_EQ(scenario_of(open.command()).warnings, Strings{});
}

TEST(Predict, AHeaderOfAnEarlierVersionIsReadWithAWarning) {
    trace::Trace trace = trace_of(10, 3'000'000);
    trace.properties.erase("state_ns");
    const TraceFile file(trace);
    const Scenario scenario = scenario_of(file.command());
    ASSERT_EQ(scenario.warnings.size(), 1U);
    EXPECT_NE(scenario.warnings.front().find("earlier version"), std::string::npos);
    EXPECT_EQ(run_scenario(scenario).front().figures.requests, 10U);
}

TEST(Predict, TheDrawsOfAHeaderGoOn) {
    trace::Trace trace = trace_of(20, 3'000'000);
    trace.properties["model"] = "read=exp:1ms";
    const auto first = run_scenario(scenario_of(TraceFile(trace).command())).front().figures;
    trace.properties["drawn_read"] = "10";
    const auto later = run_scenario(scenario_of(TraceFile(trace).command())).front().figures;
    EXPECT_NE(first.io.rlentime, later.io.rlentime);
    const TraceFile file(trace);
    PredictCommand own = file.command();
    own.model = "read=exp:1ms";  // begins anew
    EXPECT_EQ(run_scenario(scenario_of(own)).front().figures.io.rlentime, first.io.rlentime);
}

TEST(Predict, TheFirstPartOfATraceMayBeEnough) {
    const TraceFile file(trace_of(100, 3'000'000));
    PredictCommand command = file.command();
    command.duration = "30ms";
    EXPECT_EQ(run_scenario(scenario_of(command)).front().figures.requests, 11U);
}

// ---- Reports ----

TEST(Predict, ATextIsThatOfIostat) {
    PredictCommand command = drawn("even:500", "read=const:1ms", 1);
    command.duration = "1s";
    const std::string text = text_of(command);
    EXPECT_NE(text.find("wsvc_t asvc_t  %w  %b"), std::string::npos) << text;
    EXPECT_NE(text.find("predicted"), std::string::npos);
    EXPECT_NE(text.find("p99.9"), std::string::npos);
    EXPECT_EQ(text.find("recorded"), std::string::npos);
    const TraceFile file(trace_of(100, 3'000'000));
    EXPECT_NE(text_of(file.command()).find("recorded"), std::string::npos);
    trace::Trace untimed = trace_of(100, 3'000'000);
    for (trace::Request& each : untimed.requests) {
        each.started = each.finished = each.replied = each.queued;
    }
    EXPECT_EQ(text_of(TraceFile(untimed).command()).find("recorded"), std::string::npos);
}

TEST(Predict, ATableSaysWhereTheDeviceBreaks) {
    PredictCommand command = drawn("poisson:800", "read=exp:1ms", 1);
    command.speeds = "0.5,1,2,4";
    const std::string text = text_of(command);
    EXPECT_NE(text.find(" x0.5\n"), std::string::npos) << text;
    EXPECT_NE(text.find(" x2 breaks\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\nRequests/s that arrive at these speeds: 399, 798, 1596, 3191\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("keeps up at speed 1 ("), std::string::npos) << text;
    EXPECT_NE(text.find("breaks at speed 2 ("), std::string::npos) << text;
    command.speeds = "0.1,0.5";
    EXPECT_NE(text_of(command).find("keeps up at each"), std::string::npos);
    command.speeds = "3,2";
    EXPECT_NE(text_of(command).find("breaks below speed 2 ("), std::string::npos);
}

// With a place for each, requests wait for tokens in a queue that never fills the places.
TEST(Predict, ALimitBreaksADeviceWithAnyDepth) {
    PredictCommand command = drawn("even:1000", "read=const:1us", 1024);
    command.limit = "iops=1000";
    command.duration = "10s";
    command.speeds = "0.9,1.1";
    EXPECT_NE(text_of(command).find("breaks at speed 1.1 ("), std::string::npos);
}

// A disk with one head and room for 128: twice what it can do is a line at the head, and the wait
// queue stays empty in so short a time.
TEST(Predict, ALineAtTheServersOfTheModelBreaksADevice) {
    PredictCommand command = drawn("even:80", "read=const:10ms,servers=1", 128);
    command.duration = "2s";
    command.speeds = "0.5,1,2";
    const Scenario scenario = scenario_of(command);
    const auto runs = run_scenario(scenario);
    EXPECT_TRUE(runs[0].keeps_up());
    EXPECT_TRUE(runs[1].keeps_up());
    EXPECT_FALSE(runs[2].keeps_up());
    EXPECT_EQ(runs[2].figures.waiting, 0U);
    EXPECT_GT(runs[2].figures.in_device, 50U);  // 160/s for a second, of which 100 were served
    EXPECT_NEAR(runs[2].served_per_s().value_or(0), 100, 2);
    EXPECT_NE(predicted_text(scenario, runs).find("breaks at speed 2 ("), std::string::npos);
    command.speeds = "2";
    EXPECT_NE(text_of(command).find("does not keep up: it serves 100 of 160 requests/s"),
              std::string::npos)
        << text_of(command);
}

// A hundred reads each second, of which the last hundred are in the device at the end, as all were.
TEST(Predict, BurstsThatAreWorkedOffAreNoLine) {
    trace::Trace trace = trace_of(0, 1);
    trace.properties["queue_depth"] = "128";
    trace.properties["model"] = "read=const:1ms,servers=1";
    for (int64_t i = 0; i < 2000; ++i) {
        trace.requests.push_back({.queued = 1 + i / 100 * 1'000'000'000, .bytes = 4096});
    }
    const TraceFile file(trace);
    PredictCommand command = file.command();
    command.speeds = "1,5,10,20";
    const auto runs = run_scenario(scenario_of(command));
    EXPECT_TRUE(runs[0].keeps_up());
    EXPECT_TRUE(runs[1].keeps_up());
    EXPECT_TRUE(runs[2].keeps_up());
    EXPECT_FALSE(runs[3].keeps_up());
}

TEST(Predict, ALoadThatGrowsAtItsEndBreaksADevice) {
    trace::Trace trace = trace_of(0, 1);
    trace.properties["model"] = "read=const:1ms,servers=1";
    int64_t at = 1;
    for (int i = 0; i < 2000; ++i) {
        at += i < 1500 ? 10'000'000 : 100'000;
        trace.requests.push_back({.queued = at, .bytes = 4096});
    }
    const TraceFile file(trace);
    EXPECT_FALSE(run_scenario(scenario_of(file.command())).front().keeps_up());
}

TEST(Predict, RequestsOfOneMomentHaveNoRate) {
    trace::Trace trace = trace_of(0, 1);
    for (int i = 0; i < 1000; ++i) trace.requests.push_back({.queued = 1, .bytes = 4096});
    const TraceFile file(trace);
    PredictCommand command = file.command();
    const Scenario scenario = scenario_of(command);
    const auto runs = run_scenario(scenario);
    EXPECT_NE(predicted_text(scenario, runs)
                  .find("requests arrive all at one moment, and it serves 1000 requests/s"),
              std::string::npos)
        << predicted_text(scenario, runs);
    const auto report = nlohmann::json::parse(predicted_json(scenario, runs));
    EXPECT_TRUE(report.at("runs").at(0).at("asked_per_s").is_null());
    command.speeds = "1,2";
    EXPECT_NE(text_of(command).find("breaks below speed 1 (all at one moment)"), std::string::npos);
}

TEST(Predict, ManyRequestsInServiceAreNoLine) {
    PredictCommand command = drawn("even:500", "read=const:1s", 1024);
    command.duration = "4s";
    const PredictedRun run = run_scenario(scenario_of(command)).front();
    EXPECT_EQ(run.figures.in_device, 501U);  // a second of them, and the last
    EXPECT_TRUE(run.keeps_up());
}

TEST(Predict, TheSameSeedGivesTheSameBytes) {
    PredictCommand command = drawn("poisson:900", "all=lognormal:500us:4ms", 2);
    command.mix = "read=70,write=30,flush=1";
    command.duration = "5s";
    const std::string once = text_of(command);
    EXPECT_EQ(text_of(command), once);
    command.seed = 2;
    EXPECT_NE(text_of(command), once);
}

TEST(Predict, JsonHasTheObjectsOfIostat) {
    PredictCommand command = drawn("poisson:800", "read=exp:1ms", 1);
    command.speeds = "1,3";
    command.duration = "5s";
    const Scenario scenario = scenario_of(command);
    const std::string line = predicted_json(scenario, run_scenario(scenario));
    const auto report = nlohmann::json::parse(line);
    EXPECT_EQ(report.at("schema"), "blkscope.predict/1");
    EXPECT_EQ(report.at("model"), "read=exp:1ms");
    EXPECT_TRUE(report.at("recorded").is_null());
    ASSERT_EQ(report.at("runs").size(), 2U);
    EXPECT_TRUE(report.at("runs")[0].at("keeps_up"));
    EXPECT_FALSE(report.at("runs")[1].at("keeps_up"));
    const auto& device = report.at("runs")[0].at("device");
    EXPECT_NEAR(device.at("reads_per_s").get<double>(), 800, 80);
    EXPECT_GT(device.at("percentiles").at("wait").at("p99_ns"), 1'000'000);
    EXPECT_TRUE(device.at("histograms").contains("read_service"));
}

// ---- Bad input ----

TEST(Predict, AClosedLoadWithoutTimeIsRefused) {
    PredictCommand command = drawn("", "all=const:0ns", 4);
    command.closed = 4;
    command.duration = "1s";
    EXPECT_EQ(refusal(command),
              "predict: requests that take no time never end a --closed load; give a --model with "
              "a time");
    command.model = "all=const:1us";
    EXPECT_EQ(run_scenario(scenario_of(command)).size(), 1U);
}

TEST(Predict, ABadCommandLineIsRefusedInOneLine) {
    PredictCommand command;
    EXPECT_EQ(refusal(command), "predict: give a trace, --arrivals RATE or --closed N");
    command.arrivals = "poisson:100";
    EXPECT_EQ(refusal(command),
              "predict: nothing would take time; give a --model or a --limit, as 'blkscope models' "
              "shows them");
    command.closed = 1;
    EXPECT_EQ(refusal(command),
              "predict: --closed sends when a request ends, and has no --arrivals");
    command.trace = "x";
    EXPECT_EQ(refusal(command), "predict: give a trace or --arrivals, not both");
    command.arrivals.clear();
    command.speeds = "2";
    EXPECT_EQ(refusal(command), "predict: --closed has no times that --speed could change");
    command.closed.reset();
    command.mix = "write=1";
    EXPECT_EQ(refusal(command),
              "predict: --mix, --bytes and --sequential are for --arrivals, not for a trace");
}

TEST(Predict, ABadWordIsRefusedInOneLine) {
    const auto with = [](auto change) {
        PredictCommand command = drawn("poisson:100", "read=const:1ms", 1);
        change(command);
        const std::string why = refusal(command);
        EXPECT_TRUE(why.starts_with("predict: ")) << why;
        EXPECT_EQ(why.find('\n'), std::string::npos) << why;
        return why;
    };
    for (const char* arrivals : {"poisson", "poisson:0", "poisson:x", "poisson:-1", "burst:7",
                                 "even:1e99", "even:2000000000", ""}) {
        with([&](auto& command) {
            command.arrivals = arrivals;
            if (command.arrivals.empty()) command.arrivals = ":";
        });
    }
    for (const char* mix : {"", "read", "read=0", "read=x", "erase=1", "read=99999999"}) {
        with([&](auto& command) { command.mix = mix; });
    }
    for (const char* speed : {"", "0", "1,,2", "nan", "-1", "2000", "0.001"}) {
        with([&](auto& command) { command.speeds = speed; });
    }
    with([](auto& command) { command.duration = "soon"; });
    with([](auto& command) { command.duration = "0s"; });
    with([](auto& command) { command.bytes = "0"; });
    with([](auto& command) { command.bytes = "2G"; });
    with([](auto& command) { command.size = "1K"; });
    with([](auto& command) { command.model = "read=exp"; });
    with([](auto& command) { command.limit = "iops"; });
    EXPECT_EQ(with([](auto& command) {
                  command.arrivals = "even:1000000";
                  command.duration = "3600s";
              }),
              "predict: 3600000000 requests are too many; shorten --for");
}

TEST(Predict, WaitsThatNoCounterHoldsAreRefused) {
    PredictCommand command = drawn("poisson:1000", "read=const:3600s", 1);
    EXPECT_THROW(text_of(command), std::invalid_argument);
    command.model = "read=const:1us";
    command.limit = "bps=1K";
    command.bytes = "1M";
    EXPECT_THROW(text_of(command), std::invalid_argument);
}

TEST(Predict, ABadTraceIsRefusedInOneLine) {
    const auto with = [](auto change) {
        trace::Trace trace = trace_of(10, 3'000'000);
        change(trace);
        const TraceFile file(trace);
        return refusal(file.command());
    };
    EXPECT_EQ(with([](auto& trace) { trace.properties["queue_depth"] = "many"; }),
              "predict: its property queue_depth is no number above 0");
    EXPECT_EQ(with([](auto& trace) { trace.properties["queue_depth"] = "4096"; }),
              "predict: its queue_depth is above 1024");
    EXPECT_EQ(with([](auto& trace) { trace.properties["drawn_read"] = "-1"; }),
              "predict: damaged: its property drawn_read is no number");
    EXPECT_EQ(with([](auto& trace) { trace.requests.clear(); }), "predict: there are no requests");
    EXPECT_EQ(with([](auto& trace) { trace.requests[3].offset = 1 << 20; }),
              "predict: request 4: a read of 4096 bytes at 1048576 is beyond a device of 1048576 "
              "bytes; see --size");
    EXPECT_EQ(with([](auto& trace) {
                  trace.properties["size_bytes"] = "9223372036854775807";
                  trace.requests[3].bytes = uint64_t{1} << 40;
              }),
              "predict: request 4: a read of 1099511627776 bytes at 0 is longer than a device "
              "takes");
    EXPECT_EQ(with([](auto& trace) {
                  auto& last = trace.requests.back();
                  last.queued = last.started = last.finished = last.replied = INT64_MAX;
              }),
              "predict: the requests are of more than a hundred days");
    const TraceFile file("no trace");
    EXPECT_NE(refusal(file.command()).find("not a blkscope trace"), std::string::npos);
    PredictCommand missing;
    missing.trace = "/nonexistent/trace";
    EXPECT_THROW(static_cast<void>(scenario_of(missing)), std::system_error);
}

}  // namespace
}  // namespace blkscope
