// The accounting of a device in virtual time against queueing theory: M/M/1, M/D/1, M/G/1, M/M/c
// and closed networks. The words of the figures are those of iostat.
//
// A figure may be four standard errors from theory, by the means of batches. Where the standard
// error is at most 0.25 %, the figure may also be at most 1 % from theory.
//
// Sources: Kleinrock: Queueing systems, 1975; Pollaczek and Khinchine for M/G/1; Erlang's C.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "virtual_device.hpp"

namespace blkscope::queueing {
namespace {

using model::Draws;
using model::ModelSpec;

constexpr double loads[] = {0.2, 0.5, 0.8, 0.95};
constexpr uint64_t batch_count = 40;
constexpr uint64_t arrival_stream = 1000;

bool is_long() {
    const char* wanted = std::getenv("BLKSCOPE_QUEUEING");
    return wanted != nullptr && std::string(wanted) == "long";
}

// Busier queues forget more slowly, so they need more requests.
uint64_t requests_of(double load) {
    const uint64_t count = load > 0.9 ? 400'000 : 200'000;
    return is_long() ? 25 * count : count;
}

// The mean of a figure and its standard error, from one value for each batch.
class Figure {
  public:
    void add(double value) {
        ++count_;
        const double delta = value - mean_;
        mean_ += delta / count_;
        squares_ += delta * (value - mean_);
    }
    [[nodiscard]] double mean() const { return mean_; }
    [[nodiscard]] double error() const { return std::sqrt(squares_ / (count_ - 1) / count_); }

  private:
    double count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

// Shares of less than this are not told from 0 or from 1.
constexpr double resolution = 1e-4;

void expect_near(const Figure& figure, double theory, const std::string& name) {
    const double distance = std::abs(figure.mean() - theory);
    EXPECT_LE(distance, 4 * figure.error() + resolution * std::max(theory, 1.0))
        << name << ": " << figure.mean() << " +- " << figure.error() << ", theory " << theory;
    if (figure.error() <= 0.0025 * theory) {
        EXPECT_LE(distance, 0.01 * theory) << name << ": " << figure.mean();
    }
}

// The figures of a run, in milliseconds and requests.
struct Figures {
    Figure wait, actv, wsvc_t, asvc_t, busy, waiting;
    Figure waiters;             // the share of requests that waited
    std::vector<Figure> later;  // by each limit: the share of requests that waited longer
    uint64_t waited = 0;        // requests
    uint64_t requests = 0;
};

// One run with Poisson arrivals, `per_ms` a millisecond, cut into batches.
Figures run(const std::string& model, uint32_t servers, double per_ms,
            const std::vector<double>& limits_ms, uint64_t requests) {
    VirtualDevice device(ModelSpec::parse(model, nullptr), servers);
    Figures figures;
    figures.later.resize(limits_ms.size());
    figures.requests = requests;
    std::vector<uint64_t> later(limits_ms.size());
    uint64_t arrived = 0;
    uint64_t ended = 0;
    uint64_t waited_before = 0;
    kstat_io_t before{};
    const uint64_t batch = requests / batch_count;
    const auto end_batch = [&](hrtime_t now) {
        const kstat_io_t io = device.snapshot(now);
        const auto time = static_cast<double>(now - before.rlastupdate);
        const auto change = [&](hrtime_t kstat_io_t::*field) {
            return static_cast<double>(io.*field - before.*field);
        };
        const auto operations = static_cast<double>(batch);
        figures.wait.add(change(&kstat_io_t::wlentime) / time);
        figures.actv.add(change(&kstat_io_t::rlentime) / time);
        figures.wsvc_t.add(change(&kstat_io_t::wlentime) / operations / 1e6);
        figures.asvc_t.add(change(&kstat_io_t::rlentime) / operations / 1e6);
        figures.busy.add(change(&kstat_io_t::rtime) / time);
        figures.waiting.add(change(&kstat_io_t::wtime) / time);
        for (size_t i = 0; i < later.size(); ++i) {
            figures.later[i].add(static_cast<double>(later[i]) / operations);
            later[i] = 0;
        }
        figures.waiters.add(static_cast<double>(figures.waited - waited_before) / operations);
        waited_before = figures.waited;
        before = io;
    };
    const auto next = [&] {
        Draws draws(20261123, arrival_stream, arrived++);
        return static_cast<hrtime_t>(std::llround(-std::log(draws.share()) * 1e6 / per_ms));
    };
    const auto count = [&](const Past& past) {
        const double waited_ms = static_cast<double>(past.started - past.arrived) / 1e6;
        figures.waited += waited_ms > 0 ? 1U : 0U;
        for (size_t i = 0; i < later.size(); ++i) later[i] += waited_ms > limits_ms[i] ? 1U : 0U;
        if (++ended % batch == 0) end_batch(past.ended);
    };
    run_open(
        device, requests, next, [] { return Request{}; }, count);
    return figures;
}

// Theory for one queue. Times in milliseconds; the mean service time is `service`.
struct Theory {
    double load = 0;
    uint32_t servers = 1;
    double service = 1;
    double mean_wait = 0;
    double busy = 0;
    double waiting = 0;
    double some_wait = 0;  // the chance of a request to wait

    [[nodiscard]] double arrivals() const { return load * servers / service; }
};

void compare(const Figures& figures, const Theory& theory, const std::string& name) {
    const double arrivals = theory.arrivals();
    expect_near(figures.actv, theory.load * theory.servers, name + " actv");
    expect_near(figures.asvc_t, theory.service, name + " asvc_t");
    expect_near(figures.busy, theory.busy, name + " %b");
    const double expected = theory.some_wait * static_cast<double>(figures.requests);
    if (expected < 100) {
        // Waiting requests come in groups, so the interval is wider than Poisson's.
        const double spread = std::sqrt(expected * (1 + theory.load) / (1 - theory.load));
        EXPECT_NEAR(static_cast<double>(figures.waited), expected, 4 * spread + 4) << name;
        return;
    }
    expect_near(figures.waiters, theory.some_wait, name + " share that waits");
    if (expected < 10'000) return;
    expect_near(figures.wait, arrivals * theory.mean_wait, name + " wait");
    expect_near(figures.wsvc_t, theory.mean_wait, name + " wsvc_t");
    expect_near(figures.waiting, theory.waiting, name + " %w");
}

std::string name_of(const char* queue, double load) {
    return std::string(queue) + " at " + std::to_string(load);
}

// Erlang's C: the chance to wait with `servers` servers and `offered` erlangs.
double erlang_c(uint32_t servers, double offered) {
    double inverse = 1;  // of Erlang's B
    for (uint32_t i = 1; i <= servers; ++i) inverse = 1 + inverse * i / offered;
    const double blocked = 1 / inverse;
    const double load = offered / servers;
    return blocked / (1 - load * (1 - blocked));
}

// The chance that nothing is in the device.
double empty_share(uint32_t servers, double offered) {
    double term = 1;
    double sum = 1;
    for (uint32_t i = 1; i < servers; ++i) sum += term *= offered / i;
    term *= offered / servers;
    return 1 / (sum + term / (1 - offered / servers));
}

void check_many_servers(uint32_t servers) {
    for (const double load : loads) {
        const double offered = load * servers;
        const double chance = erlang_c(servers, offered);
        const double rate = servers - offered;  // of the exponential of those that wait
        const std::vector<double> limits{0.5 / rate, 1 / rate, 3 / rate};
        const Figures figures = run("read=exp:1ms", servers, offered, limits, requests_of(load));
        const std::string name = name_of(("M/M/" + std::to_string(servers)).c_str(), load);
        const Theory theory{.load = load,
                            .servers = servers,
                            .mean_wait = chance / rate,
                            .busy = 1 - empty_share(servers, offered),
                            .waiting = chance * load,
                            .some_wait = chance};
        compare(figures, theory, name);
        if (chance * static_cast<double>(figures.requests) < 10'000) continue;
        for (size_t i = 0; i < limits.size(); ++i) {
            expect_near(figures.later[i], chance * std::exp(-rate * limits[i]),
                        name + " waits of more than " + std::to_string(limits[i]));
        }
    }
}

TEST(QueueingTheory, OneServerWithExponentialTimes) {
    check_many_servers(1);
}
TEST(QueueingTheory, TwoServersWithExponentialTimes) {
    check_many_servers(2);
}
TEST(QueueingTheory, FourServersWithExponentialTimes) {
    check_many_servers(4);
}
TEST(QueueingTheory, SixteenServersWithExponentialTimes) {
    check_many_servers(16);
}

TEST(QueueingTheory, OneServerWithConstantTimes) {
    for (const double load : loads) {
        const Theory theory{.load = load,
                            .mean_wait = load / (2 * (1 - load)),
                            .busy = load,
                            .waiting = 1 - (1 - load) * std::exp(load),
                            .some_wait = load};
        compare(run("read=const:1ms", 1, load, {}, requests_of(load)), theory,
                name_of("M/D/1", load));
    }
}

// E[e^(-rate * S)] of a lognormal S, by the trapezoid rule over the normal below it.
double lognormal_transform(double median, double sigma, double rate) {
    constexpr double step = 0.001;
    double sum = 0;
    for (double z = -9; z <= 9; z += step) {
        sum += std::exp(-z * z / 2 - rate * median * std::exp(sigma * z));
    }
    return sum * step / std::sqrt(2 * M_PI);
}

TEST(QueueingTheory, OneServerWithLognormalTimes) {
    const double sigma = std::log(4 / 0.6) / 2.3263478740408408;
    const double mean = 0.6 * std::exp(sigma * sigma / 2);
    const double square = 0.36 * std::exp(2 * sigma * sigma);
    for (const double load : loads) {
        const double rate = load / mean;
        const Theory theory{.load = load,
                            .service = mean,
                            .mean_wait = rate * square / (2 * (1 - load)),
                            .busy = load,
                            .waiting = 1 - (1 - load) / lognormal_transform(0.6, sigma, rate),
                            .some_wait = load};
        compare(run("read=lognormal:600us:4ms", 1, rate, {}, requests_of(load)), theory,
                name_of("M/G/1", load));
    }
}

// With N requests that come back at once, the lengths and the rate are exact.
TEST(QueueingTheory, AClosedNetworkIsExact) {
    for (const uint32_t servers : {1U, 2U, 4U, 16U}) {
        for (const uint64_t clients : {uint64_t{1}, uint64_t{3}, uint64_t{16}, uint64_t{40}}) {
            VirtualDevice device(ModelSpec::parse("read=const:1ms", nullptr), servers);
            for (uint64_t i = 0; i < clients; ++i) device.arrive(0, {});
            constexpr hrtime_t rounds = 100;
            constexpr hrtime_t end = rounds * 1'000'000;
            while (device.next_end() <= end) {
                const hrtime_t now = device.end().ended;
                if (now < end) device.arrive(now, {});
            }
            const auto active = static_cast<hrtime_t>(std::min<uint64_t>(servers, clients));
            const kstat_io_t io = device.snapshot(end);
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
    VirtualDevice device(ModelSpec::parse("all=const:1ms", nullptr), 64);
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
