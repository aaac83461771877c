// Predictions against recordings. A device on the simulated kernel has a worker that wakes up late.
// The recording of an open load is predicted, also for other depths and speeds. Then the same load is
// really run so.
#include "blockdev/virtual_time/prediction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blockdev/accounting/recorder.hpp"
#include "device_bench.hpp"
#include "kstat/histogram/percentiles.hpp"
#include "random.hpp"
#include "trace/model_state.hpp"

namespace blkscope::simulation {
namespace {

using virtual_time::Figures;

constexpr uint64_t load_stream = 0x70726564;

struct Case {
    std::string model;
    std::string limits;
    uint32_t depth = 1;
    double gap_ns = 0;  // the mean time between two arrivals
    double speed = 1;
    int earlier = 0;  // requests before the recording
};

Behaviour behaviour_of(const Case& one) {
    Behaviour behaviour;
    behaviour.model = model::ModelSpec::parse(one.model, {});
    if (!one.limits.empty()) behaviour.limits = model::LimitSpec::parse(one.limits);
    behaviour.seed = 11;
    return behaviour;
}

/// The requests of a device, and the state of its model when the recording began.
struct Recording {
    std::vector<trace::Request> requests;
    trace::ModelState state;
};

// The load is the same at each speed and depth. Reads, writes and some flushes, anywhere.
Recording record(const Case& one) {
    Bench bench(5, 1, {.queue_depth = one.depth, .behaviour = behaviour_of(one)});
    Random random(1, load_stream);
    Recording recording;
    double at = 0;
    constexpr int count = 4'000;
    for (int i = 0; i < one.earlier + count; ++i) {
        at -= std::log((static_cast<double>(random.below(1'000'000)) + 0.5) / 1e6) * one.gap_ns;
        const uint64_t kind = random.below(20);
        const Buf::Op op = kind == 0 ? Buf::Op::flush : kind < 7 ? Buf::Op::write : Buf::Op::read;
        const uint64_t offset = 4096 * random.below(device_bytes / 4096 - 16);
        const uint64_t bytes = 512 * random.between(1, 64);
        bench.at(std::llround(at / one.speed), [&bench, &recording, &one, i, op, offset, bytes] {
            if (i == one.earlier) recording.state = bench.device().model_state();
            bench.send(0, op, offset, bytes);
        });
    }
    bench.run(hrtime_t{3600} * 1'000'000'000);
    for (const auto& request : bench.requests()) {
        recording.requests.push_back(recorded(bench.kernel(), *request, 0));
    }
    recording.requests.erase(recording.requests.begin(), recording.requests.begin() + one.earlier);
    return recording;
}

class Requests final : public virtual_time::Load {
  public:
    explicit Requests(const std::vector<trace::Request>& requests) : requests_(requests) {}
    bool next(virtual_time::Asked& asked) override {
        if (next_ == requests_.size()) return false;
        const trace::Request& each = requests_[next_++];
        asked = {each.queued - requests_.front().queued, each.offset, each.bytes, each.op,
                 each.flags};
        return true;
    }

  private:
    const std::vector<trace::Request>& requests_;
    size_t next_ = 0;
};

// The prediction of a recording, as its header would let a command do it.
Figures predicted(const Recording& recording, const Case& one) {
    trace::Trace trace{.properties = {}, .requests = recording.requests};
    trace::put_state(recording.state, trace.properties);
    trace::settle(trace);
    virtual_time::Setting setting{.size_bytes = device_bytes,
                                  .queue_depth = one.depth,
                                  .behaviour = behaviour_of(one),
                                  .speed = one.speed};
    setting.behaviour.state = *trace::state_of(trace.properties);
    Requests load(trace.requests);
    return virtual_time::predict(setting, load);
}

double mean_ns(hrtime_t length_time, const kstat_io_t& io) {
    return static_cast<double>(length_time) / (io.reads + io.writes);
}

void expect_near(double seen, double expected, double share, const std::string& what) {
    // Below 10 us a worker's wake-up is all that there is.
    EXPECT_NEAR(seen, expected, share * expected + 10'000) << what;
}

size_t p99_bucket(const Figures& figures, const std::string& name) {
    for (const auto& each : figures.histograms) {
        if (each.name == name) return kstat2::percentile_bucket(each.counts, kstat2::p99).value();
    }
    ADD_FAILURE() << name;
    return 0;
}

void expect_same(const Figures& seen, const Figures& expected, double share) {
    EXPECT_EQ(seen.io.reads, expected.io.reads);
    EXPECT_EQ(seen.io.writes, expected.io.writes);
    EXPECT_EQ(seen.io.nread, expected.io.nread);
    expect_near(mean_ns(seen.io.wlentime, seen.io), mean_ns(expected.io.wlentime, expected.io),
                share, "wait");
    expect_near(mean_ns(seen.io.rlentime, seen.io), mean_ns(expected.io.rlentime, expected.io),
                share, "service");
    for (const char* name : {"read_wait", "read_service", "write_total"}) {
        const auto buckets = static_cast<int64_t>(p99_bucket(seen, name)) -
                             static_cast<int64_t>(p99_bucket(expected, name));
        EXPECT_LE(std::abs(buckets), 1) << name;
    }
}

std::vector<Case> cases() {
    return {{"read=exp:1ms,write=exp:2ms", "", 1, 2.0e6},
            {"all=exp:1ms", "", 4, 0.35e6},
            {"all=lognormal:500us:4ms,servers=2", "", 16, 0.6e6},
            {"hdd7200", "", 8, 9.0e6},
            {"all=ssd:4:80us:300us:256K:2ms", "", 8, 0.8e6},
            {"all=const:1ms", "iops=900", 64, 1.2e6}};
}

TEST(Predicted, AnOpenLoadIsAsItWasRecorded) {
    for (const Case& one : cases()) {
        SCOPED_TRACE(one.model);
        const Recording recording = record(one);
        const Figures seen = virtual_time::account(recording.requests, device_bytes);
        expect_same(predicted(recording, one), seen, 0.03);
    }
}

// Recorded at one depth and speed. Predicted, and really run, at others; the middle two under a sanitizer.
constexpr std::pair<unsigned, double> others[] = {{1, 1.0}, {2, 0.5}, {32, 1.2}, {32, 1.0}};

TEST(Predicted, AnOtherDepthOrSpeedIsAsItIsReallyRun) {
    for (const Case& one : cases()) {
        const Recording recording = record(one);
        for (const auto& [depth, speed] :
             std::span(others).subspan(BLKSCOPE_SANITIZED, BLKSCOPE_SANITIZED ? 2 : 4)) {
            Case other = one;
            other.depth = depth;
            other.speed = speed;
            SCOPED_TRACE(one.model + " at depth " + std::to_string(depth) + " and speed " +
                         std::to_string(speed));
            const Recording really = record(other);
            const Figures seen = virtual_time::account(really.requests, device_bytes);
            expect_same(predicted(recording, other), seen, 0.05);
        }
    }
}

// The model has drawn already, the head is somewhere, and the bucket is not full.
TEST(Predicted, ARecordingGoesOnWhereTheDeviceWas) {
    for (Case one : cases()) {
        SCOPED_TRACE(one.model);
        one.earlier = 500;
        const Recording recording = record(one);
        EXPECT_GT(recording.state.drawn[0], 200U);
        const Figures seen = virtual_time::account(recording.requests, device_bytes);
        expect_same(predicted(recording, one), seen, 0.03);
    }
}

}  // namespace
}  // namespace blkscope::simulation
