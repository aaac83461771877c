#include "tools/report/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace blkscope::report {
namespace {

using nlohmann::json;

constexpr size_t parts_max = 10;
constexpr double endless = std::numeric_limits<double>::infinity();

// Student's t for a two-sided interval of 99.5 %, by the degrees of freedom from 1 on.
constexpr std::array<double, parts_max - 1> student_t{127.32, 14.089, 7.453, 5.598, 4.773,
                                                      4.317,  4.029,  3.833, 3.690};

double t_of(size_t freedom) {
    return student_t[std::min(freedom, student_t.size()) - 1];
}

double mean_of(const std::vector<Estimate>& runs) {
    double sum = 0;
    for (const Estimate& run : runs) sum += run.value;
    return sum / static_cast<double>(runs.size());
}

// The samples of each part, as indices from and to.
std::vector<std::pair<size_t, size_t>> parts_of(size_t samples) {
    const size_t parts = std::min(parts_max, samples);
    std::vector<std::pair<size_t, size_t>> all;
    for (size_t part = 0; part < parts; ++part) {
        all.emplace_back(part * samples / parts, (part + 1) * samples / parts);
    }
    return all;
}

// Requests by the lower edge of their bucket.
struct Bucket {
    double upper = 0;
    double count = 0;
};
using Buckets = std::map<double, Bucket>;

double count_of(const Buckets& buckets) {
    double count = 0;
    for (const auto& [lower, bucket] : buckets) count += bucket.count;
    return count;
}

double count_below(const Buckets& buckets, double edge) {
    double count = 0;
    for (const auto& [lower, bucket] : buckets) count += lower < edge ? bucket.count : 0;
    return count;
}

void add(const json& sample, const std::string& operation, Buckets& buckets) {
    const auto requests = sample.find("requests");
    if (requests == sample.end() || !requests->contains(operation)) return;
    for (const json& one : requests->at(operation)) {
        Bucket& bucket = buckets[one.at(0).get<double>()];
        bucket.upper = one.at(1).get<double>();
        bucket.count += one.at(2).get<double>();
    }
}

// The bucket that covers so many of the requests.
Buckets::const_iterator covering(const Buckets& buckets, double requests) {
    auto at = buckets.begin();
    double covered = at->second.count;
    while (covered < requests && std::next(at) != buckets.end()) covered += (++at)->second.count;
    return at;
}

// The variance of the share of requests below an edge: what the parts show, as for a ratio of sums.
double variance_of_share(const std::vector<Buckets>& parts, const Buckets& all, double edge) {
    const double count = count_of(all);
    const double share = count_below(all, edge) / count;
    double squares = 0;
    for (const Buckets& part : parts) {
        squares += std::pow(count_below(part, edge) - share * count_of(part), 2);
    }
    const auto number = static_cast<double>(parts.size());
    return number / (number - 1) * squares / (count * count);
}

// The last bucket of a histogram has no end.
double upper_edge(Buckets::const_iterator bucket) {
    if (bucket->second.upper > bucket->first) return bucket->second.upper;
    return endless;
}

}  // namespace

std::optional<Estimate> mean_of(const json& samples, Sum (*of)(const json&, const char*),
                                const char* key) {
    std::vector<double> values;
    Sum all;
    for (const auto& [from, to] : parts_of(samples.size())) {
        Sum sum;
        for (size_t i = from; i < to; ++i) {
            const Sum one = of(samples.at(i), key);
            sum.value += one.value;
            sum.weight += one.weight;
        }
        if (sum.weight <= 0) continue;
        values.push_back(sum.value / sum.weight);
        all.value += sum.value;
        all.weight += sum.weight;
    }
    if (values.size() < 2) return {};
    const double mean = all.value / all.weight;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    const auto count = static_cast<double>(values.size());
    const double half = t_of(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
    return Estimate{mean, std::max(mean - half, 0.0), mean + half};
}

// Never surer than the binomial distribution of independent requests would be.
std::optional<Estimate> percentile_of(const json& samples, const std::string& operation,
                                      kstat2::PerMillion p) {
    std::vector<Buckets> parts;
    Buckets all;
    for (const auto& [from, to] : parts_of(samples.size())) {
        Buckets part;
        for (size_t i = from; i < to; ++i) {
            add(samples.at(i), operation, part);
            add(samples.at(i), operation, all);
        }
        if (count_of(part) > 0) parts.push_back(std::move(part));
    }
    if (parts.size() < 2) return {};
    const double count = count_of(all);
    const double share = static_cast<double>(p) / kstat2::whole;
    const auto at = covering(all, std::ceil(share * count));
    const double variance =
        std::max({share * (1 - share) / count, variance_of_share(parts, all, at->first),
                  variance_of_share(parts, all, at->second.upper)});
    const double half = t_of(parts.size() - 1) * std::sqrt(variance) * count;
    const double low_rank = share * count - half;
    const double high_rank = share * count + half + 1;
    return Estimate{at->second.upper, low_rank < 1 ? 0 : covering(all, low_rank)->first,
                    high_rank > count ? endless : upper_edge(covering(all, high_rank))};
}

Spread spread_of(const std::vector<Estimate>& one, const std::vector<Estimate>& other) {
    Spread spread;
    double squares = 0;
    for (const std::vector<Estimate>* runs : {&one, &other}) {
        const double mean = mean_of(*runs);
        for (const Estimate& run : *runs) squares += std::pow(run.value - mean, 2);
        spread.freedom += runs->size() - 1;
    }
    if (spread.freedom == 0) return spread;
    spread.deviation = std::sqrt(squares / static_cast<double>(spread.freedom));
    return spread;
}

Estimate of_runs(const std::vector<Estimate>& runs, const Spread& spread) {
    if (spread.freedom == 0) return runs.front();
    const double root = std::sqrt(static_cast<double>(runs.size()));
    const double half = t_of(spread.freedom) * spread.deviation / root;
    const double mean = mean_of(runs);
    double below = 0;
    double above = 0;
    for (const Estimate& run : runs) {
        below += (run.value - run.low) / static_cast<double>(runs.size());
        above += (run.high - run.value) / static_cast<double>(runs.size());
    }
    return {mean, std::max(mean - std::max(below / root, half), 0.0),
            mean + std::max(above / root, half)};
}

}  // namespace blkscope::report
