// Devices with models, limits and faults, on the simulated kernel in virtual time. Their times are
// held against a recursion, and they serve while everything changes at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "device_bench.hpp"
#include "live_changes.hpp"
#include "random.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t test_stream = 0x62656861;
constexpr hrtime_t us = 1'000;
constexpr hrtime_t ms = 1'000'000;

Behaviour modelled(const std::string& text) {
    Behaviour behaviour;
    behaviour.model = model::ModelSpec::parse(text, {});
    return behaviour;
}

/// Sends reads whose gaps are exponential, of a mean of `gap_ns`.
void arrive_at_random(Bench& bench, Random& random, int count, double gap_ns) {
    double at = 0;
    for (int i = 0; i < count; ++i) {
        const double share = (static_cast<double>(random.below(1'000'000)) + 0.5) / 1e6;
        at -= std::log(share) * gap_ns;
        bench.at(std::llround(at), [&bench] { bench.send(0, Buf::Op::read); });
    }
}

// Each request begins and ends at the moments of Kiefer and Wolfowitz's recursion. The worker's
// wake-up makes each moment later, and never adds up, however long the line is.
void expect_recursion(const std::string& model, uint32_t depth, uint32_t servers, double gap_ns) {
    constexpr hrtime_t late_max = 20 * us;
    Bench bench(1, 1, {.queue_depth = depth, .behaviour = modelled(model)});
    Random random(servers, test_stream);
    arrive_at_random(bench, random, 2'000, gap_ns);
    bench.run(3'600'000 * ms);
    std::vector<hrtime_t> free(servers, 0);
    for (const auto& request : bench.requests()) {
        const auto server = std::min_element(free.begin(), free.end());
        const hrtime_t begin = std::max(request->queued, *server);
        *server = begin + ms;
        if (depth == servers) {
            ASSERT_GE(request->started, begin);
            ASSERT_LE(request->started, begin + late_max);
        }
        ASSERT_GE(request->finished, *server);
        ASSERT_LE(request->finished, *server + late_max);
    }
    bench.check_accounting();
}

TEST(Behaviour, AConstantModelIsTheRecursionWithTheLineInTheWaitQueue) {
    expect_recursion("read=const:1ms", 1, 1, 1.25 * ms);
    expect_recursion("read=const:1ms", 4, 4, 0.3 * ms);
}

TEST(Behaviour, AConstantModelIsTheRecursionWithTheLineInTheDevice) {
    expect_recursion("read=const:1ms,servers=1", 1000, 1, 1.25 * ms);
    expect_recursion("read=const:1ms,servers=4", 1000, 4, 0.3 * ms);
}

TEST(Behaviour, AClosedLoopOfOneServerIsSpentInTheQueueBeforeIt) {
    Bench bench(2, 1, {.queue_depth = 1, .behaviour = modelled("all=const:1ms")});
    for (int i = 0; i < 100; ++i) bench.send(0, i % 3 == 0 ? Buf::Op::flush : Buf::Op::write);
    bench.run(1'000 * ms);
    const auto& last = *bench.requests().back();
    EXPECT_GE(last.finished - bench.requests().front()->queued, 100 * ms);
    EXPECT_LE(last.finished - bench.requests().front()->queued, 101 * ms);
    bench.check_accounting();
}

// The only place is taken by a request of the model before. The next one is served from that one's end on.
TEST(Behaviour, ARequestThatWaitsForAPlaceOfTheModelBeforeHasItsWholeTime) {
    for (const char* const before : {"all=const:5ms", ""}) {
        DeviceOptions options{.queue_depth = 1};
        if (*before != '\0') options.behaviour = modelled(before);
        options.behaviour.faults.push_back(
            model::FaultRule::parse("read:delay=const:5ms;count=1", device_bytes, {}));
        Bench bench(4, 1, std::move(options));
        bench.send(0, Buf::Op::read);
        bench.send(0, Buf::Op::write);
        bench.at(ms,
                 [&] { bench.device().set_model(model::ModelSpec::parse("all=const:1ms", {})); });
        bench.run(100 * ms);
        const auto& second = *bench.requests()[1];
        EXPECT_GE(second.started, bench.requests()[0]->finished);
        EXPECT_GE(second.finished - second.started, ms);
        EXPECT_LE(second.finished - second.started, ms + 20 * us);
    }
}

// Four requests of a deeper device take both places, until the last of three has ended.
TEST(Behaviour, ARequestBehindMoreThanTheDepthHasItsWholeTimeWhenTheDepthRisesAgain) {
    DeviceOptions options{.queue_depth = 4};
    options.behaviour.faults.push_back(
        model::FaultRule::parse("read:delay=const:5ms;count=4", device_bytes, {}));
    Bench bench(4, 1, std::move(options));
    for (int i = 0; i < 4; ++i) bench.send(0, Buf::Op::read);
    bench.send(0, Buf::Op::write);
    bench.at(ms, [&] {
        bench.device().set_queue_depth(1);
        bench.device().set_model(model::ModelSpec::parse("all=const:1ms", {}));
    });
    bench.at(2 * ms, [&] { bench.device().set_queue_depth(2); });
    bench.run(100 * ms);
    const auto& last = *bench.requests().back();
    EXPECT_GE(last.started, bench.requests()[2]->finished);
    EXPECT_GE(last.finished - last.started, ms);
    EXPECT_LE(last.finished - last.started, ms + 20 * us);
    bench.check_accounting();
}

TEST(Behaviour, ALimitStartsARequestWhenItsTokensAreThere) {
    Behaviour behaviour;
    behaviour.limits = model::LimitSpec::parse("iops=1000");
    Bench bench(3, 2, {.queue_depth = 64, .behaviour = std::move(behaviour)});
    for (int i = 0; i < 500; ++i) bench.send(i % 2 == 0 ? 0 : 1, Buf::Op::read);
    bench.run(2'000 * ms);
    const hrtime_t begin = bench.requests().front()->queued;
    // The bucket holds ten. One comes back every millisecond.
    for (int i = 20; i < 500; ++i) {
        const hrtime_t started = bench.requests()[static_cast<size_t>(i)]->started - begin;
        EXPECT_GE(started, (i - 10) * ms - ms / 10);
        EXPECT_LE(started, (i - 9) * ms + ms / 10);
    }
    bench.check_accounting();
}

// ---- Random changes while the device serves ----

class Changes {
  public:
    Changes(Bench& bench, Random& random, size_t rings)
        : bench_(bench), random_(random), rings_(rings) {}

    void make_one() {
        Device& device = bench_.device();
        const size_t lane = random_.below(rings_);
        switch (random_.below(8)) {
            case 0:
                return device.set_model(draw_model(random_));
            case 1:
                return device.set_limits(draw_limits(random_));
            case 2:
                return device.set_queue_depth(static_cast<uint32_t>(random_.between(1, 9)));
            case 3:
                device.add_fault(draw_fault(random_, true, device_bytes));
                return;
            case 4:
                device.remove_fault(static_cast<uint32_t>(random_.between(1, 5)));
                return;
            case 5:
                return device.clear_faults();
            case 6:
                return bench_.abandon(lane);
            default:
                if (lane == 0 || !bench_.is_idle(lane)) return;
                bench_.close_lane(lane);
                return bench_.open_lane(lane);
        }
    }

  private:
    Bench& bench_;
    Random& random_;
    size_t rings_;
};

// Everything is drawn from the seed. Returns the hash of the life.
uint64_t live(uint64_t seed) {
    static constexpr Buf::Op ops[] = {Buf::Op::read, Buf::Op::write, Buf::Op::flush, Buf::Op::read,
                                      Buf::Op::trim};
    Random random(seed, test_stream);
    const size_t rings = random.between(1, 3);
    Bench bench(seed, rings, {.queue_depth = static_cast<uint32_t>(random.between(1, 9))});
    Changes changes(bench, random, rings);
    hrtime_t last = 0;
    for (int i = 0; i < 200; ++i) {
        const auto when = static_cast<hrtime_t>(random.below(50 * ms));
        last = std::max(last, when);
        bench.at(when, [&] {
            const uint64_t page = random.below(device_bytes / 4096 - 2);
            const size_t lane = random.below(rings);
            const Buf::Op op = ops[random.below(std::size(ops))];
            bench.send(lane, op, page * 4096, random.between(1, 16) * 512);
        });
    }
    for (int i = 0; i < 30; ++i) {
        bench.at(static_cast<hrtime_t>(random.below(50 * ms)), [&] { changes.make_one(); });
    }
    bench.at(last + 60 * ms, [&] {
        bench.device().clear_faults();
        bench.device().set_limits(std::nullopt);
    });
    bench.run(60'000 * ms);
    bench.check_accounting();
    return bench.hash();
}

TEST(Behaviour, NothingIsLostWhateverChangesWhileItServes) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        live(seed);
        if (testing::Test::HasFailure()) return;
    }
}

TEST(Behaviour, TheSameSeedIsTheSameLife) {
    EXPECT_EQ(live(7), live(7));
    EXPECT_NE(live(7), live(8));
}

}  // namespace
}  // namespace blkscope::simulation
