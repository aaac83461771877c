// The accounting of a device in virtual time against queueing theory: M/M/1, M/D/1, M/G/1, M/M/c
// and closed networks. The words of the figures are those of iostat.
//
// A figure may be four standard errors from theory, by the means of batches. Where the standard
// error is at most 0.25 %, the figure may also be at most 1 % from theory.
#include "theory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "virtual_device.hpp"

namespace blkscope::queueing {
namespace {

bool is_long() {
    const char* wanted = std::getenv("BLKSCOPE_QUEUEING");
    return wanted != nullptr && std::string(wanted) == "long";
}

// Busier queues forget more slowly, so they need more requests.
uint64_t requests_of(double load) {
    const uint64_t count = load > 0.9 ? 400'000 : 200'000;
    return is_long() ? 25 * count : BLKSCOPE_SANITIZED ? count / 4 : count;
}

// Shares of less than this are not told from 0 or from 1.
constexpr double resolution = 1e-4;

void expect_near(const Row& row, const std::string& name) {
    const double distance = std::abs(row.seen - row.theory);
    const double slack = row.counted ? 4 : resolution * std::max(row.theory, 1.0);
    EXPECT_LE(distance, 4 * row.error + slack)
        << name << ": " << row.seen << " +- " << row.error << ", theory " << row.theory;
    if (!row.counted && row.error <= 0.0025 * row.theory) {
        EXPECT_LE(distance, 0.01 * row.theory) << name << ": " << row.seen;
    }
}

void check(const Queue& queue, uint64_t seed) {
    for (const double load : loads) {
        const auto rows = rows_of(queue, load, requests_of(load), seed++);
        EXPECT_GE(rows.size(), 4U);
        for (const Row& row : rows) {
            expect_near(row, queue.name + " at " + std::to_string(load) + " " + row.figure);
        }
    }
}

TEST(QueueingTheory, OneServerWithExponentialTimes) {
    check(many_servers(1), 10);
}
TEST(QueueingTheory, TwoServersWithExponentialTimes) {
    check(many_servers(2), 20);
}
TEST(QueueingTheory, FourServersWithExponentialTimes) {
    check(many_servers(4), 30);
}
TEST(QueueingTheory, SixteenServersWithExponentialTimes) {
    check(many_servers(16), 40);
}
TEST(QueueingTheory, OneServerWithConstantTimes) {
    check(constant_times(), 50);
}
TEST(QueueingTheory, OneServerWithLognormalTimes) {
    check(lognormal_times(), 60);
}

// The formulas against values of the literature and of other formulas.
TEST(QueueingTheory, ItsFormulasAgreeWhereTwoSayTheSame) {
    const Theory one = many_servers(1).theory(0.8);
    EXPECT_NEAR(one.mean_wait, 4, 1e-12);
    EXPECT_NEAR(one.waiting, 0.64, 1e-12);
    EXPECT_NEAR(one.response_later(3), std::exp(-0.2 * 3), 1e-12);
    const Theory two = many_servers(2).theory(0.5);  // the rate of those that wait is 1
    EXPECT_NEAR(two.some_wait, 1.0 / 3, 1e-12);
    EXPECT_NEAR(two.response_later(2), std::exp(-2) * (2.0 / 3 + 3.0 / 3), 1e-12);
    const Theory constant = constant_times().theory(0.5);
    EXPECT_NEAR(constant.waiting, 0.1756, 1e-4);
    EXPECT_NEAR(constant.wait_later(0), 0.5, 1e-12);
    EXPECT_NEAR(constant.wait_later(0.7), 1 - 0.5 * std::exp(0.35), 1e-12);
}

// The area under the tail of a time is its mean.
TEST(QueueingTheory, TheTailsHaveTheMeanOfTheirFormula) {
    for (const double load : loads) {
        const Theory theory = constant_times().theory(load);
        constexpr double step = 0.01;
        double area = -step * theory.wait_later(0) / 2;
        for (double t = 0; t < 400; t += step) area += step * theory.wait_later(t);
        EXPECT_NEAR(area, theory.mean_wait, 1e-3 * theory.mean_wait) << load;
    }
}

// With N requests that come back at once, the lengths and the rate are exact.
TEST(QueueingTheory, AClosedNetworkIsExact) {
    constexpr hrtime_t rounds = 100;
    constexpr hrtime_t end = rounds * 1'000'000;
    for (const uint32_t servers : {1U, 2U, 4U, 16U}) {
        for (const uint64_t clients : {uint64_t{1}, uint64_t{3}, uint64_t{16}, uint64_t{40}}) {
            const auto active = static_cast<hrtime_t>(std::min<uint64_t>(servers, clients));
            const kstat_io_t io = run_closed(clients, servers, rounds);
            EXPECT_EQ(io.rlentime, active * end);
            EXPECT_EQ(io.wlentime, (static_cast<hrtime_t>(clients) - active) * end);
            EXPECT_EQ(io.reads, static_cast<uint64_t>(active * rounds));
            EXPECT_EQ(io.rtime, end);
            EXPECT_EQ(io.wtime, clients > servers ? end : 0);
        }
    }
}

// At a depth of 64 and with as many servers, a constant time is no queue.
TEST(QueueingTheory, AConstantTimeAtFullDepthIsThatTime) {
    VirtualDevice device(model::ModelSpec::parse("all=const:1ms", nullptr), 64);
    for (int i = 0; i < 64; ++i) device.arrive(0, {});
    hrtime_t longest = 0;
    for (int i = 0; i < 6400; ++i) {
        const Past past = device.end();
        longest = std::max(longest, past.ended - past.arrived);
        device.arrive(past.ended, {});
    }
    EXPECT_EQ(longest, 1'000'000);
}

}  // namespace
}  // namespace blkscope::queueing
