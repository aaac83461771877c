#include "theory.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <utility>

#include "virtual_device.hpp"

namespace blkscope::queueing {
namespace {

using model::Draws;
using model::ModelSpec;

constexpr uint64_t batch_count = 40;
constexpr uint64_t theory_stream = 1000;
// With fewer requests that wait, the figures of the wait queue have no usable standard error.
constexpr double waiting_min = 10'000;
constexpr double counted_max = 100;
// A quantile or a limit needs as many groups of requests above it.
constexpr double groups_min = 20;

// ---- What theory says ----

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

// A service of mean 1, plus a wait: none, or with `chance` an exponential with `rate`.
double response_later(double chance, double rate, double t) {
    const double served = std::exp(-t);
    if (std::abs(rate - 1) < 1e-9) return (1 - chance) * served + chance * (1 + t) * served;
    return (1 - chance) * served + chance * (rate * served - std::exp(-rate * t)) / (rate - 1);
}

Theory theory_of_many_servers(uint32_t servers, double load) {
    const double offered = load * servers;
    const double chance = erlang_c(servers, offered);
    const double rate = servers - offered;  // of the exponential of those that wait
    return {.mean_wait = chance / rate,
            .busy = 1 - empty_share(servers, offered),
            .waiting = chance * load,
            .some_wait = chance,
            .wait_later = [=](double t) { return chance * std::exp(-rate * t); },
            .response_later = [=](double t) { return response_later(chance, rate, t); },
            .waits = {0.5 / rate, 1 / rate, 3 / rate}};
}

// The wait of M/D/1. All terms of both sums are positive, so no digits are lost at high loads.
class ConstantWait {
  public:
    explicit ConstantWait(double load) : load_(load) {
        find_states();
        double sum = states_[0];
        for (size_t n = 1; n < states_.size(); ++n) at_most_.push_back(sum += states_[n]);
    }

    // The service time is 1.
    [[nodiscard]] double later(double t) const {
        const auto k = static_cast<size_t>(t) + 1;
        assert(k <= at_most_.size());
        const double rest = load_ * (static_cast<double>(k) - t);
        double term = std::exp(-rest);
        double sum = 0;
        for (size_t j = 0; j < k; ++j) {
            sum += at_most_[k - 1 - j] * term;
            term *= rest / static_cast<double>(j + 1);
        }
        return std::max(1 - sum, 0.0);
    }

  private:
    static constexpr size_t states_max = 600;

    // The chance of each number of requests. As often as the number rises above n, it falls to n.
    void find_states() {
        std::vector<double> more(states_max + 1);  // more than n arrivals during a service
        double term = std::exp(-load_);
        std::vector<double> exactly;
        for (size_t n = 0; n <= states_max + 1; ++n) {
            exactly.push_back(term);
            term *= load_ / static_cast<double>(n + 1);
        }
        for (size_t n = states_max + 1; n-- > 0;) {
            more[n] = exactly[n + 1] + (n < states_max ? more[n + 1] : 0);
        }
        states_.push_back(1 - load_);
        for (size_t n = 0; n + 1 < states_max; ++n) {
            double rises = states_[0] * more[n];
            for (size_t i = 1; i <= n; ++i) rises += states_[i] * more[n + 1 - i];
            states_.push_back(rises / exactly[0]);
        }
    }

    double load_;
    std::vector<double> states_;   // by the number of requests
    std::vector<double> at_most_;  // by the number that waits
};

// E[e^(-rate * S)] of a lognormal S, by the trapezoid rule over the normal below it.
double lognormal_transform(double median, double sigma, double rate) {
    constexpr double step = 0.001;
    double sum = 0;
    for (double z = -9; z <= 9; z += step) {
        sum += std::exp(-z * z / 2 - rate * median * std::exp(sigma * z));
    }
    return sum * step / std::sqrt(2 * M_PI);
}

// ---- What a run shows ----

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
    [[nodiscard]] Row row(const std::string& name, double theory) const {
        return {name, theory, mean(), error()};
    }

  private:
    double count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

// All times of one kind, and the shares that are longer than each of some limits.
class Times {
  public:
    explicit Times(std::vector<double> limits)
        : limits_(std::move(limits)), over_(limits_.size()), shares_(limits_.size()) {}

    void add(double ms) {
        if (limits_.empty()) return;
        all_.push_back(ms);
        for (size_t i = 0; i < limits_.size(); ++i) over_[i] += ms > limits_[i] ? 1U : 0U;
    }
    void end_batch(double requests) {
        for (size_t i = 0; i < limits_.size(); ++i) {
            shares_[i].add(static_cast<double>(over_[i]) / requests);
            over_[i] = 0;
        }
    }
    [[nodiscard]] const std::vector<double>& limits() const { return limits_; }
    [[nodiscard]] const Figure& share(size_t at) const { return shares_[at]; }
    /// The time that is longer than the share `wanted` of all.
    [[nodiscard]] double quantile(double wanted) {
        const auto at = static_cast<size_t>(wanted * static_cast<double>(all_.size()));
        const auto middle = all_.begin() + static_cast<ptrdiff_t>(at);
        std::nth_element(all_.begin(), middle, all_.end());
        return *middle;
    }

  private:
    std::vector<double> limits_;
    std::vector<double> all_;
    std::vector<uint64_t> over_;  // in this batch
    std::vector<Figure> shares_;
};

// The quantiles in the tables.
struct Quantile {
    double share;
    const char* name;
};
constexpr Quantile quantiles[] = {{0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}, {0.999, "p99.9"}};

// The time that is longer than `share` of all, by theory; 0 if fewer are above 0.
double quantile_of(const Tail& later, double share) {
    constexpr double rounding = 1e-9;
    if (later(0) <= 1 - share + rounding) return 0;
    double low = 0;
    double high = 1;
    while (later(high) > 1 - share) high *= 2;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (later(middle) > 1 - share ? low : high) = middle;
    }
    return low;
}

std::vector<double> quantiles_of(const Tail& later) {
    std::vector<double> all;
    for (const Quantile& each : quantiles) {
        if (later) all.push_back(quantile_of(later, each.share));
    }
    return all;
}

// One run, cut into batches.
class Run {
  public:
    Run(const Queue& queue, double load, uint64_t requests, uint64_t seed)
        : queue_(queue),
          theory_(queue.theory(load)),
          per_ms_(load * queue.servers / queue.service),
          requests_(requests),
          groups_(static_cast<double>(requests) * (1 - load) * (1 - load)),
          longer_(theory_.waits),
          waits_(quantiles_of(theory_.wait_later)),
          responses_(quantiles_of(theory_.response_later)),
          device_(ModelSpec::parse(queue.model + ",seed=" + std::to_string(seed), nullptr),
                  queue.servers) {
        const auto next = [this, seed, arrived = uint64_t{0}]() mutable {
            Draws draws(seed, theory_stream, arrived++);
            return static_cast<hrtime_t>(std::llround(-std::log(draws.share()) * 1e6 / per_ms_));
        };
        const auto make = [] { return Request{}; };
        run_open(device_, requests, next, make, [this](const Past& past) { count(past); });
    }

    [[nodiscard]] std::vector<Row> rows(double load);

  private:
    void count(const Past& past);
    void end_batch(hrtime_t now);
    void add_times(std::vector<Row>& rows);
    void add_quantiles(std::vector<Row>& rows, const std::string& name, Times& times,
                       const Tail& later) const;

    const Queue& queue_;
    Theory theory_;
    double per_ms_;
    uint64_t requests_;
    double groups_;  // a queue forgets within so many requests, so long waits come in groups
    Times longer_, waits_, responses_;
    VirtualDevice device_;
    Figure wait_, actv_, wsvc_t_, asvc_t_, busy_, waiting_, waiters_;
    uint64_t ended_ = 0;
    uint64_t waited_ = 0;
    uint64_t waited_before_ = 0;
    kstat_io_t before_{};
};

void Run::count(const Past& past) {
    const double waited_ms = static_cast<double>(past.started - past.arrived) / 1e6;
    waited_ += waited_ms > 0 ? 1U : 0U;
    longer_.add(waited_ms);
    waits_.add(waited_ms);
    responses_.add(static_cast<double>(past.ended - past.arrived) / 1e6);
    if (++ended_ % (requests_ / batch_count) == 0) end_batch(past.ended);
}

void Run::end_batch(hrtime_t now) {
    const kstat_io_t io = device_.snapshot(now);
    const auto time = static_cast<double>(now - before_.rlastupdate);
    const auto change = [&](hrtime_t kstat_io_t::*field) {
        return static_cast<double>(io.*field - before_.*field);
    };
    const auto operations = static_cast<double>(requests_ / batch_count);
    wait_.add(change(&kstat_io_t::wlentime) / time);
    actv_.add(change(&kstat_io_t::rlentime) / time);
    wsvc_t_.add(change(&kstat_io_t::wlentime) / operations / 1e6);
    asvc_t_.add(change(&kstat_io_t::rlentime) / operations / 1e6);
    busy_.add(change(&kstat_io_t::rtime) / time);
    waiting_.add(change(&kstat_io_t::wtime) / time);
    waiters_.add(static_cast<double>(waited_ - waited_before_) / operations);
    for (Times* times : {&longer_, &waits_, &responses_}) times->end_batch(operations);
    waited_before_ = waited_;
    before_ = io;
}

std::vector<Row> Run::rows(double load) {
    std::vector<Row> all{actv_.row("actv", load * queue_.servers),
                         asvc_t_.row("asvc_t", queue_.service), busy_.row("%b", theory_.busy)};
    const double expected = theory_.some_wait * static_cast<double>(requests_);
    if (expected < counted_max) {
        // Waiting requests come in groups, so the interval is wider than Poisson's.
        const double spread = std::sqrt(expected * (1 + load) / (1 - load));
        all.push_back({"requests that wait", expected, static_cast<double>(waited_), spread, true});
        return all;
    }
    all.push_back(waiters_.row("share that waits", theory_.some_wait));
    if (expected < waiting_min) return all;
    all.push_back(wait_.row("wait", per_ms_ * theory_.mean_wait));
    all.push_back(wsvc_t_.row("wsvc_t", theory_.mean_wait));
    all.push_back(waiting_.row("%w", theory_.waiting));
    add_times(all);
    return all;
}

void Run::add_times(std::vector<Row>& rows) {
    for (size_t i = 0; i < theory_.waits.size(); ++i) {
        const double limit = theory_.waits[i];
        if (groups_ * theory_.wait_later(limit) < groups_min) continue;
        rows.push_back(longer_.share(i).row("waits over " + std::to_string(limit) + " ms",
                                            theory_.wait_later(limit)));
    }
    add_quantiles(rows, "wait", waits_, theory_.wait_later);
    add_quantiles(rows, "response", responses_, theory_.response_later);
}

// The standard error of a quantile is that of the share above it, over the density.
void Run::add_quantiles(std::vector<Row>& rows, const std::string& name, Times& times,
                        const Tail& later) const {
    for (size_t i = 0; i < times.limits().size(); ++i) {
        const double theory = times.limits()[i];
        if (theory == 0 || groups_ * (1 - quantiles[i].share) < groups_min) continue;
        const double step = theory * 1e-4;
        const double density = (later(theory - step) - later(theory + step)) / (2 * step);
        rows.push_back({name + " " + quantiles[i].name, theory, times.quantile(quantiles[i].share),
                        times.share(i).error() / density});
    }
}

}  // namespace

Queue many_servers(uint32_t servers) {
    return {.name = "M/M/" + std::to_string(servers),
            .model = "read=exp:1ms",
            .servers = servers,
            .theory = [=](double load) { return theory_of_many_servers(servers, load); }};
}

Queue constant_times() {
    return {.name = "M/D/1", .model = "read=const:1ms", .theory = [](double load) {
                return Theory{
                    .mean_wait = load / (2 * (1 - load)),
                    .busy = load,
                    .waiting = 1 - (1 - load) * std::exp(load),
                    .some_wait = load,
                    .wait_later = [wait = ConstantWait(load)](double t) { return wait.later(t); }};
            }};
}

Queue lognormal_times() {
    const double sigma = std::log(4 / 0.6) / 2.3263478740408408;
    const double mean = 0.6 * std::exp(sigma * sigma / 2);
    const double square = 0.36 * std::exp(2 * sigma * sigma);
    return {.name = "M/G/1",
            .model = "read=lognormal:600us:4ms",
            .service = mean,
            .theory = [=](double load) {
                const double rate = load / mean;
                return Theory{.mean_wait = rate * square / (2 * (1 - load)),
                              .busy = load,
                              .waiting = 1 - (1 - load) / lognormal_transform(0.6, sigma, rate),
                              .some_wait = load};
            }};
}

std::vector<Queue> queues() {
    return {many_servers(1),  many_servers(2),  many_servers(4),
            many_servers(16), constant_times(), lognormal_times()};
}

std::vector<Row> rows_of(const Queue& queue, double load, uint64_t requests, uint64_t seed) {
    assert(requests >= batch_count);
    return Run(queue, load, requests, seed).rows(load);
}

kstat_io_t run_closed(uint64_t clients, uint32_t servers, hrtime_t rounds) {
    VirtualDevice device(ModelSpec::parse("read=const:1ms", nullptr), servers);
    for (uint64_t i = 0; i < clients; ++i) device.arrive(0, {});
    const hrtime_t end = rounds * 1'000'000;
    while (device.next_end() <= end) {
        const hrtime_t now = device.end().ended;
        if (now < end) device.arrive(now, {});
    }
    return device.snapshot(end);
}

}  // namespace blkscope::queueing
