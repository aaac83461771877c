#include "blockdev/model/distribution.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace blkscope::model {
namespace {

constexpr double z99 = 2.3263478740408408;  // the 99th percentile of the standard normal
constexpr uint64_t stages_max = 1000;       // a draw takes a logarithm for each stage

template <class... Each>
struct Overloaded : Each... {
    using Each::operator()...;
};
template <class... Each>
Overloaded(Each...) -> Overloaded<Each...>;

double sigma_of(Time p50, Time p99) {
    assert(p50.ps > 0 && p99 >= p50);
    return std::log(p99.ns() / p50.ns()) / z99;
}

double exponential(Draws& draws) {
    return -std::log(draws.share());
}

double normal(Draws& draws) {
    const double radius = std::sqrt(2 * exponential(draws));
    return radius * std::cos(2 * std::numbers::pi * draws.share());
}

double draw_bucket(const Histogram& histogram, const std::vector<uint64_t>& sums, Draws& draws) {
    assert(sums.size() == histogram.buckets.size() && !sums.empty());
    const uint64_t place = draws.below(sums.back());
    const auto at = std::upper_bound(sums.begin(), sums.end(), place);
    assert(at != sums.end());
    const auto& bucket = histogram.buckets[static_cast<size_t>(at - sums.begin())];
    return bucket.from_ns + (bucket.to_ns - bucket.from_ns) * draws.share();
}

// Buckets come from files and from other processes. `sum` is of the counts before this bucket.
void require_usable(const Histogram::Bucket& bucket, uint64_t sum) {
    constexpr uint64_t sum_max = uint64_t{1} << 53;  // a double has no larger number exactly
    constexpr double ns_max = static_cast<double>(Time::max_ps) / 1e3;
    const bool ordered = bucket.from_ns >= 0 && bucket.to_ns >= bucket.from_ns;  // no NaN either
    if (!ordered || bucket.to_ns > ns_max) {
        throw std::invalid_argument("a bucket of the histogram is not within 0 to a day");
    }
    if (bucket.count == 0) throw std::invalid_argument("a bucket of the histogram is empty");
    assert(sum <= sum_max);
    if (bucket.count > sum_max - sum) {
        throw std::invalid_argument("the counts of the histogram are too large");
    }
}

double mean_of(const Histogram& histogram) {
    assert(!histogram.buckets.empty());
    double sum = 0;
    double count = 0;
    for (const Histogram::Bucket& bucket : histogram.buckets) {
        sum += static_cast<double>(bucket.count) * (bucket.from_ns + bucket.to_ns) / 2;
        count += static_cast<double>(bucket.count);
    }
    return sum / count;
}

}  // namespace

Distribution::Shape Distribution::parse_uniform(std::string_view arguments) {
    const auto parts = split(arguments, ':');
    expect_parts(parts, 2, "uniform:A:B");
    const Uniform uniform{parse_time(parts[0]), parse_time(parts[1])};
    if (uniform.to < uniform.from) throw std::invalid_argument("B is less than A");
    return uniform;
}

Distribution::Shape Distribution::parse_erlang(std::string_view arguments) {
    const auto parts = split(arguments, ':');
    expect_parts(parts, 2, "erlang:K:T");
    const Erlang erlang{parse_count(parts[0], "K", 1), parse_time(parts[1])};
    if (erlang.stages > stages_max) {
        throw std::invalid_argument("K is more than " + std::to_string(stages_max));
    }
    return erlang;
}

Distribution::Shape Distribution::parse_lognormal(std::string_view arguments) {
    const auto parts = split(arguments, ':');
    expect_parts(parts, 2, "lognormal:P50:P99");
    const Lognormal lognormal{parse_time(parts[0]), parse_time(parts[1])};
    if (lognormal.p50.ps == 0) throw std::invalid_argument("P50 is zero");
    if (lognormal.p99 < lognormal.p50) throw std::invalid_argument("P99 is less than P50");
    return lognormal;
}

Distribution::Shape Distribution::parse_pareto(std::string_view arguments) {
    const auto parts = split(arguments, ':');
    expect_parts(parts, 2, "pareto:MIN:ALPHA");
    const Pareto pareto{parse_time(parts[0]), parse_positive(parts[1], "ALPHA")};
    if (pareto.min.ps == 0) throw std::invalid_argument("MIN is zero");
    if (pareto.alpha <= 1) throw std::invalid_argument("ALPHA is not above 1: there is no mean");
    return pareto;
}

Distribution::Shape Distribution::parse_empirical(std::string_view file,
                                                  const HistogramReader& reader) {
    if (file.empty()) throw std::invalid_argument("not of the form empirical:FILE");
    if (!reader) throw std::invalid_argument("no file can be read here");
    auto histogram = std::make_shared<Histogram>(reader(std::string(file)));
    auto sums = std::make_shared<std::vector<uint64_t>>();
    uint64_t sum = 0;
    for (const Histogram::Bucket& bucket : histogram->buckets) {
        require_usable(bucket, sum);
        sum += bucket.count;
        sums->push_back(sum);
    }
    if (sum == 0) throw std::invalid_argument("the histogram is empty");
    return Empirical{std::string(file), std::move(histogram), std::move(sums)};
}

Distribution Distribution::parse(std::string_view text, const HistogramReader& reader) {
    return in_context("distribution", text, [&] {
        const auto [name, arguments, separated] = head_of(text, ':');
        if (name == "const") return Distribution(Constant{parse_time(arguments)});
        if (name == "uniform") return Distribution(parse_uniform(arguments));
        if (name == "exp") return Distribution(Erlang{0, parse_time(arguments)});
        if (name == "erlang") return Distribution(parse_erlang(arguments));
        if (name == "lognormal") return Distribution(parse_lognormal(arguments));
        if (name == "pareto") return Distribution(parse_pareto(arguments));
        if (name == "empirical") return Distribution(parse_empirical(arguments, reader));
        throw std::invalid_argument(
            "unknown: not const, uniform, exp, erlang, lognormal, pareto or empirical");
    });
}

double Distribution::draw_ns(Draws& draws) const {
    const Overloaded draw{
        [](const Constant& shape) { return shape.time.ns(); },
        [&](const Uniform& shape) {
            return shape.from.ns() + (shape.to.ns() - shape.from.ns()) * draws.share();
        },
        [&](const Erlang& shape) {
            const uint64_t stages = std::max<uint64_t>(shape.stages, 1);
            double sum = 0;
            for (uint64_t i = 0; i < stages; ++i) sum += exponential(draws);
            return sum * shape.mean.ns() / static_cast<double>(stages);
        },
        [&](const Lognormal& shape) {
            return shape.p50.ns() * std::exp(sigma_of(shape.p50, shape.p99) * normal(draws));
        },
        [&](const Pareto& shape) {
            return shape.min.ns() * std::pow(draws.share(), -1 / shape.alpha);
        },
        [&](const Empirical& shape) { return draw_bucket(*shape.histogram, *shape.sums, draws); },
    };
    const double ns = std::visit(draw, shape_);
    assert(ns >= 0);
    return ns;
}

double Distribution::mean_ns() const {
    const Overloaded mean{
        [](const Constant& shape) { return shape.time.ns(); },
        [](const Uniform& shape) { return (shape.from.ns() + shape.to.ns()) / 2; },
        [](const Erlang& shape) { return shape.mean.ns(); },
        [](const Lognormal& shape) {
            const double sigma = sigma_of(shape.p50, shape.p99);
            return shape.p50.ns() * std::exp(sigma * sigma / 2);
        },
        [](const Pareto& shape) { return shape.min.ns() * shape.alpha / (shape.alpha - 1); },
        [](const Empirical& shape) { return mean_of(*shape.histogram); },
    };
    return std::visit(mean, shape_);
}

bool Distribution::says_mean() const {
    return std::holds_alternative<Constant>(shape_) || std::holds_alternative<Erlang>(shape_);
}

std::string Distribution::text() const {
    const Overloaded text{
        [](const Constant& shape) { return "const:" + text_of(shape.time); },
        [](const Uniform& shape) {
            return "uniform:" + text_of(shape.from) + ":" + text_of(shape.to);
        },
        [](const Erlang& shape) {
            if (shape.stages == 0) return "exp:" + text_of(shape.mean);
            return "erlang:" + std::to_string(shape.stages) + ":" + text_of(shape.mean);
        },
        [](const Lognormal& shape) {
            return "lognormal:" + text_of(shape.p50) + ":" + text_of(shape.p99);
        },
        [](const Pareto& shape) {
            return "pareto:" + text_of(shape.min) + ":" + text_of(shape.alpha);
        },
        [](const Empirical& shape) { return "empirical:" + shape.file; },
    };
    return std::visit(text, shape_);
}

std::string Distribution::warning() const {
    const auto* pareto = std::get_if<Pareto>(&shape_);
    if (pareto == nullptr || pareto->alpha > 2) return {};
    return text() + " has no variance: means of long runs still differ";
}

}  // namespace blkscope::model
