// Limits in front of a device in virtual time, against a device that goes from tick to tick.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "bursts.hpp"
#include "virtual_device.hpp"

namespace blkscope::queueing {
namespace {

using model::Draws;
using Name = model::LimitSpec::Name;

constexpr hrtime_t end_of_arrivals = BLKSCOPE_SANITIZED ? 5'000'000 : 10'000'000;
constexpr size_t depth = 8;
constexpr uint64_t group = 600;  // requests of about one size
constexpr hrtime_t service = 30'000;
constexpr uint64_t seeds = BLKSCOPE_SANITIZED ? 1 : 2;
__extension__ using Wide = __int128;

struct Arrival {
    hrtime_t at = 0;
    uint64_t bytes = 0;
};

// Groups of small and of large requests, so that either bucket is sometimes full, sometimes empty.
std::vector<Arrival> arrivals_of(uint64_t seed) {
    std::vector<Arrival> arrivals;
    hrtime_t now = 0;
    for (uint64_t n = 0; now < end_of_arrivals; ++n) {
        Draws draws(seed, 1, n);
        const bool pause = draws.below(300) == 0;
        const bool large = n / group % 2 == 1;
        now += static_cast<hrtime_t>(pause ? draws.below(3'000'000) : draws.below(4000));
        arrivals.push_back({now, 512 * (1 + (large ? 3 + draws.below(6) : 0))});
    }
    return arrivals;
}

struct SlowBucket {
    SlowBucket(uint64_t per_second, Wide first, Wide most)
        : rate(per_second), level(first * 1'000'000'000), capacity(most * 1'000'000'000) {}

    void tick() { level = std::min<Wide>(capacity, level + rate); }

    Wide rate;
    Wide level;
    Wide capacity;
};

struct Outcome {
    std::vector<hrtime_t> starts;
    uint64_t iops_exceeded = 0;
    uint64_t bps_exceeded = 0;

    friend bool operator==(const Outcome&, const Outcome&) = default;
};

// A device with `iops` of one or two buckets, and `bps`. Looks at each tick.
Outcome tick_by_tick(std::vector<SlowBucket> iops, SlowBucket bps,
                     const std::vector<Arrival>& arrivals) {
    Outcome outcome;
    std::deque<uint64_t> waiting;
    std::deque<hrtime_t> ends;
    size_t next = 0;
    for (hrtime_t now = 0; outcome.starts.size() < arrivals.size(); ++now) {
        for (; !ends.empty() && ends.front() == now; ends.pop_front()) {
        }
        for (; next < arrivals.size() && arrivals[next].at == now; ++next) {
            waiting.push_back(arrivals[next].bytes);
        }
        const auto lacks_iops = [&] {
            return std::any_of(iops.begin(), iops.end(),
                               [](auto& each) { return each.level <= 0; });
        };
        while (!waiting.empty() && ends.size() < depth && !lacks_iops() && bps.level > 0) {
            for (SlowBucket& each : iops) each.level -= Wide{1'000'000'000};
            bps.level -= Wide{waiting.front()} * 1'000'000'000;
            waiting.pop_front();
            ends.push_back(now + service);
            outcome.starts.push_back(now);
        }
        if (!waiting.empty() && ends.size() < depth) {
            outcome.iops_exceeded += lacks_iops() ? 1U : 0U;
            outcome.bps_exceeded += bps.level <= 0 ? 1U : 0U;
        }
        for (SlowBucket& each : iops) each.tick();
        bps.tick();
    }
    return outcome;
}

Outcome in_virtual_time(const std::string& limits, const std::vector<Arrival>& arrivals) {
    VirtualDevice device(model::ModelSpec::parse("read=const:30us", nullptr), depth,
                         model::LimitSpec::parse(limits));
    Outcome outcome;
    size_t at = 0;
    size_t made = 0;
    hrtime_t last = 0;
    const auto next = [&] {
        if (at == arrivals.size()) return hrtime_t{0};
        const hrtime_t gap = arrivals[at].at - last;
        last = arrivals[at++].at;
        return gap;
    };
    const auto make = [&] { return Request{.bytes = arrivals[made++].bytes}; };
    const hrtime_t end = run_open(device, arrivals.size(), next, make, [&](const Past& past) {
        outcome.starts.push_back(past.started);
    });
    outcome.iops_exceeded = device.limits().exceeded_ns(Name::iops, end);
    outcome.bps_exceeded = device.limits().exceeded_ns(Name::bps, end);
    return outcome;
}

TEST(LimitsInVirtualTime, StartAndExceedAsFromTickToTick) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto arrivals = arrivals_of(seed);
        const Outcome expected =
            tick_by_tick({{30'000, 300, 300}}, {50 << 20, 524'288, 524'288}, arrivals);
        EXPECT_GT(expected.iops_exceeded, 0U);
        EXPECT_GT(expected.bps_exceeded, 0U);
        EXPECT_EQ(in_virtual_time("iops=30000,bps=50M", arrivals), expected);
    }
}

TEST(LimitsInVirtualTime, SpendCreditsAsFromTickToTick) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto arrivals = arrivals_of(seed);
        const Outcome expected = tick_by_tick({{30'000, 250, 300}, {200'000, 2000, 2000}},
                                              {50 << 20, 524'288, 524'288}, arrivals);
        EXPECT_GT(expected.iops_exceeded, 0U);
        EXPECT_EQ(in_virtual_time("iops=30000:200000:300:250,bps=50M", arrivals), expected);
    }
}

// With more depth than clients, a request waits only for tokens. So two counters of different code
// have the same time: that of the limits and that of the wait queue.
TEST(LimitsInVirtualTime, ExceededTimeIsTheTimeInWhichARequestWaited) {
    const Burst clients = burst_of_clients("iops=300:3000:5400000:27000");
    EXPECT_NEAR(static_cast<double>(clients.credits_end), 10e9, 0.1e9);
    EXPECT_GT(clients.wtime, 10'000'000'000U);
    EXPECT_EQ(clients.exceeded_ns, clients.wtime);
    // Two thousand arrivals a second spend 1,700 credits a second. Nothing waits before the end.
    const Burst arrivals = burst_of_arrivals("iops=300:3000:5400000:27000", 500'000);
    EXPECT_NEAR(static_cast<double>(arrivals.credits_end), 27'000 / 1700.0 * 1e9, 0.16e9);
    EXPECT_EQ(arrivals.exceeded_ns, arrivals.wtime);
    EXPECT_NEAR(static_cast<double>(arrivals.wtime), 1e9, 0.02e9);
}

}  // namespace
}  // namespace blkscope::queueing
