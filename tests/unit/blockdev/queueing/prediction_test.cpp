// Predictions of the whole device, against the recursions to the tick.
#include "blockdev/virtual_time/prediction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "blockdev/model/model_spec.hpp"
#include "recursion.hpp"
#include "virtual_device.hpp"

namespace blkscope::queueing {
namespace {

using virtual_time::Figures;
using virtual_time::Setting;

constexpr uint64_t count = 3000;
constexpr uint64_t seed = 7;

std::vector<hrtime_t> poisson_arrivals(double gap_ns) {
    std::vector<hrtime_t> arrivals;
    hrtime_t now = 0;
    for (uint64_t n = 0; n < count; ++n) {
        now += std::llround(-std::log(model::Draws(3, 1000, n).share()) * gap_ns);
        arrivals.push_back(now);
    }
    return arrivals;
}

class Reads final : public virtual_time::Load {
  public:
    explicit Reads(const std::vector<hrtime_t>& arrivals) : arrivals_(arrivals) {}
    bool next(virtual_time::Asked& asked) override {
        if (next_ == arrivals_.size()) return false;
        asked = {.at = arrivals_[next_++], .bytes = 4096};
        return true;
    }

  private:
    const std::vector<hrtime_t>& arrivals_;
    size_t next_ = 0;
};

/// Requests without an end, of one operation.
class Endless final : public virtual_time::Load {
  public:
    explicit Endless(trace::Op op = trace::Op::read) : op_(op) {}
    bool next(virtual_time::Asked& asked) override {
        asked = {.bytes = 512, .op = op_};
        return true;
    }

  private:
    trace::Op op_;
};

Setting setting_of(const std::string& model, uint32_t depth) {
    Setting setting{.size_bytes = VirtualDevice::size_bytes, .queue_depth = depth};
    setting.behaviour.model = model::ModelSpec::parse(model, nullptr);
    setting.behaviour.seed = seed;
    return setting;
}

Figures predicted(const Setting& setting, const std::vector<hrtime_t>& arrivals) {
    Reads reads(arrivals);
    return virtual_time::predict(setting, reads);
}

TEST(Prediction, IsTheRecursionToTheTick) {
    for (const char* time : {"const:1ms", "exp:1ms", "lognormal:600us:4ms"}) {
        for (const uint32_t servers : {1U, 2U, 16U}) {
            for (const double load : {0.3, 0.9, 1.2}) {
                const auto spec = model::ModelSpec::parse("read=" + std::string(time), nullptr);
                const auto arrivals = poisson_arrivals(1e6 / load / servers);
                const auto services =
                    services_of(*spec.time_of(Buf::Op::read), seed, arrivals.size());
                for (const uint32_t depth : {servers, 64U}) {
                    const Figures seen =
                        predicted(setting_of("read=" + std::string(time) +
                                                 ",servers=" + std::to_string(servers),
                                             depth),
                                  arrivals);
                    EXPECT_EQ(integrals_of(seen.io),
                              integrals_of(recursion(arrivals, services, servers, depth)));
                    EXPECT_EQ(seen.io.reads, count);
                }
            }
        }
    }
}

TEST(Prediction, OfALimitIsThatOfTheQueueAlone) {
    Setting setting = setting_of("read=const:100us", 8);
    setting.behaviour.limits = model::LimitSpec::parse("iops=900:3000:50");
    const auto arrivals = poisson_arrivals(1e6);
    const Figures seen = predicted(setting, arrivals);
    VirtualDevice device(*setting.behaviour.model, 8, *setting.behaviour.limits);
    size_t at = 0;
    hrtime_t last = 0;
    const auto next = [&] {
        const hrtime_t gap = at < arrivals.size() ? arrivals[at] - last : 0;
        last += gap;
        ++at;
        return gap;
    };
    const hrtime_t end = run_open(
        device, count, next, [] { return Request{}; }, [](const Past&) {});
    EXPECT_GT(seen.io.wlentime, 0);
    EXPECT_EQ(integrals_of(seen.io), integrals_of(device.snapshot(end)));
}

TEST(Prediction, OfARecordingHasTheAccountingOfIts) {
    const auto arrivals = poisson_arrivals(0.6e6);
    const auto spec = model::ModelSpec::parse("read=exp:1ms", nullptr);
    const auto services = services_of(*spec.time_of(Buf::Op::read), seed, arrivals.size());
    const auto moments = recursion(arrivals, services, 2, 2);
    std::vector<trace::Request> requests;
    for (const Moments& each : moments) {
        requests.push_back({.queued = each.arrived,
                            .started = each.started,
                            .finished = each.ended,
                            .bytes = 4096});
    }
    const Figures recorded = virtual_time::account(requests, VirtualDevice::size_bytes);
    const Figures seen = predicted(setting_of("read=exp:1ms", 2), arrivals);
    EXPECT_EQ(integrals_of(recorded.io), integrals_of(seen.io));
    EXPECT_EQ(recorded.requests, seen.requests);
    ASSERT_EQ(recorded.histograms.size(), seen.histograms.size());
    for (size_t i = 0; i < seen.histograms.size(); ++i) {
        EXPECT_EQ(recorded.histograms[i].name, seen.histograms[i].name);
        EXPECT_EQ(recorded.histograms[i].counts, seen.histograms[i].counts)
            << seen.histograms[i].name;
    }
}

// Two of four have all stamps that waits and services are made of.
TEST(Prediction, ARecordingHasNoFiguresOfUnknownTimes) {
    const trace::Request whole{
        .received = 1000, .queued = 1000, .started = 2000, .finished = 5000, .bytes = 512};
    std::vector<trace::Request> requests(4, whole);
    requests[1].finished = 0;
    requests[2].started = 0;
    requests[3].queued = 0;  // the device had it when it was received
    const Figures recorded = virtual_time::account(requests, VirtualDevice::size_bytes);
    EXPECT_EQ(recorded.requests, 2U);
    EXPECT_EQ(recorded.io.wlentime, 2000);
    EXPECT_EQ(recorded.io.rlentime, 6000);
}

// The ticks of this kernel are nanoseconds, whatever the processor counts.
TEST(Prediction, TheTimesOfItsHistogramsAreNanoseconds) {
    const Figures seen = predicted(setting_of("read=const:1ms", 64), poisson_arrivals(2e6));
    for (const auto& histogram : seen.histograms) {
        if (histogram.name != "read_service") continue;
        EXPECT_EQ(histogram.counts[histogram.shape.index(1'000'000)], count);
        EXPECT_EQ(histogram.sum, count * 1'000'000);
        return;
    }
    ADD_FAILURE() << "there is no such histogram";
}

TEST(Prediction, AtATwofoldSpeedHasHalfOfTheGaps) {
    auto arrivals = poisson_arrivals(2e6);
    for (hrtime_t& each : arrivals) each -= each % 2;
    Setting setting = setting_of("read=exp:1ms", 4);
    setting.speed = 2;
    const Figures fast = predicted(setting, arrivals);
    for (hrtime_t& each : arrivals) each /= 2;
    setting.speed = 1;
    EXPECT_EQ(integrals_of(fast.io), integrals_of(predicted(setting, arrivals).io));
}

// N requests in flight on c servers, each of a millisecond: min(N, c) end in each of them.
TEST(Prediction, OfAClosedLoopIsExact) {
    constexpr hrtime_t ms = 1'000'000;
    constexpr hrtime_t rounds = 100;
    for (const uint32_t servers : {1U, 4U}) {
        for (const uint32_t clients : {1U, 4U, 16U}) {
            Setting setting = setting_of("read=const:1ms", servers);
            setting.in_flight = clients;
            setting.closed_ns = rounds * ms;
            Endless load;
            const Figures seen = virtual_time::predict(setting, load);
            const uint64_t active = std::min(servers, clients);
            EXPECT_EQ(seen.requests, clients + active * (rounds - 1));
            EXPECT_EQ(seen.io.rlentime, static_cast<hrtime_t>(seen.requests) * ms);
            EXPECT_FALSE(seen.gave_up);
        }
    }
}

TEST(Prediction, OfRequestsThatTakeNoTimeEnds) {
    Setting setting = setting_of("read=const:1ms", 1);
    setting.in_flight = 2;
    setting.closed_ns = 1'000'000;
    Endless load(trace::Op::write);
    const Figures seen = virtual_time::predict(setting, load);
    EXPECT_TRUE(seen.gave_up);
    EXPECT_EQ(seen.elapsed(), 0);
}

TEST(Prediction, GivesUpBeforeItsMemoryIsTooLarge) {
    Endless load;  // all at once
    const Figures seen = virtual_time::predict(setting_of("read=const:1ns", 1), load);
    EXPECT_TRUE(seen.gave_up);
    EXPECT_EQ(seen.io.reads, seen.requests);
    EXPECT_LE(seen.requests, virtual_time::waiting_max + 2);
}

TEST(Prediction, TakesEachOperation) {
    class All final : public virtual_time::Load {
      public:
        bool next(virtual_time::Asked& asked) override {
            asked = {.at = 1000 * number_,
                     .offset = 512,
                     .bytes = 4096,
                     .op = static_cast<trace::Op>(number_ % 7),
                     .flags = static_cast<uint8_t>(number_ % 8)};
            return ++number_ <= 700;
        }

      private:
        int64_t number_ = 0;
    };
    All load;
    const Figures seen = virtual_time::predict(setting_of("all=exp:50us,servers=2", 4), load);
    EXPECT_EQ(seen.requests, 700U);
    EXPECT_EQ(seen.io.reads, 100U);
    EXPECT_EQ(seen.io.writes, 100U);
}

TEST(Prediction, OfNothingIsNothing) {
    const Figures seen = predicted(setting_of("read=const:1ms", 1), {});
    EXPECT_EQ(seen.requests, 0U);
    EXPECT_EQ(seen.elapsed(), 0);
    EXPECT_EQ(virtual_time::account({}, 4096).requests, 0U);
}

}  // namespace
}  // namespace blkscope::queueing
