// The measure of t-digests: values of ten distributions, and the distance of an answer's rank from
// the requested rank.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace blkscope {

struct Distribution {
    std::string name;
    std::function<std::vector<uint64_t>(size_t count, uint64_t seed)> draw;
};

template <class D>
std::vector<uint64_t> drawn(D distribution, size_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<uint64_t> values(count);
    for (uint64_t& value : values) value = static_cast<uint64_t>(std::fabs(distribution(random)));
    return values;
}

inline std::vector<uint64_t> ascending(size_t count) {
    std::vector<uint64_t> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = i + 1;
    return values;
}

/// Service times in nanoseconds, roughly, of disks that behave and of disks that do not.
inline const std::vector<Distribution>& distributions() {
    static const std::vector<Distribution> all{
        {"uniform",
         [](size_t n, uint64_t seed) {
             return drawn(std::uniform_real_distribution<double>(0, 1e6), n, seed);
         }},
        {"exponential",
         [](size_t n, uint64_t seed) {
             return drawn(std::exponential_distribution<double>(1e-4), n, seed);
         }},
        {"log-normal",
         [](size_t n, uint64_t seed) {
             return drawn(std::lognormal_distribution<double>(11.5, 1), n, seed);
         }},
        {"Pareto",
         [](size_t n, uint64_t seed) {
             const auto pareto = [](std::mt19937_64& random) {
                 const double u = std::uniform_real_distribution<double>(1e-12, 1)(random);
                 return 100 * std::pow(u, -1 / 1.2);
             };
             return drawn(pareto, n, seed);
         }},
        {"bimodal",
         [](size_t n, uint64_t seed) {
             const auto modes = [](std::mt19937_64& random) {
                 return random() % 1000 == 0 ? 1e6 : 100.0 + static_cast<double>(random() % 10);
             };
             return drawn(modes, n, seed);
         }},
        {"ascending", [](size_t n, uint64_t) { return ascending(n); }},
        {"descending",
         [](size_t n, uint64_t) {
             std::vector<uint64_t> values = ascending(n);
             std::reverse(values.begin(), values.end());
             return values;
         }},
    };
    return all;
}

/// Harder ones: a long tail, two disks in one, and stalls. One value in 150 is a stall, and the
/// values jump there.
inline const std::vector<Distribution>& harder_distributions() {
    static const std::vector<Distribution> all{
        {"Weibull",
         [](size_t n, uint64_t seed) {
             return drawn(std::weibull_distribution<double>(0.5, 1e5), n, seed);
         }},
        {"two disks",
         [](size_t n, uint64_t seed) {
             const auto disks = [](std::mt19937_64& random) {
                 const double scale = random() % 10 == 0 ? 16 : 11;
                 return std::lognormal_distribution<double>(scale, 0.3)(random);
             };
             return drawn(disks, n, seed);
         }},
        {"stall",
         [](size_t n, uint64_t seed) {
             const auto stall = [](std::mt19937_64& random) {
                 const bool stalls = random() % 150 == 0;
                 return std::uniform_real_distribution<double>(stalls ? 1e8 : 1e5,
                                                               stalls ? 2e8 : 2e5)(random);
             };
             return drawn(stall, n, seed);
         }},
    };
    return all;
}

/// The distance of q from the ranks that `answer` has among the sorted values. 0 if `answer` is a
/// value of rank q.
inline double rank_error(const std::vector<uint64_t>& sorted, double answer, double q) {
    const auto n = static_cast<double>(sorted.size());
    const auto below = [&](double limit, bool equal) {
        const auto at = std::partition_point(sorted.begin(), sorted.end(), [&](uint64_t value) {
            const auto v = static_cast<double>(value);
            return v < limit || (equal && v == limit);
        });
        return static_cast<double>(at - sorted.begin()) / n;
    };
    const double lowest = below(answer, false);
    const double highest = below(answer, true);
    if (q < lowest) return lowest - q;
    return q > highest ? q - highest : 0;
}

}  // namespace blkscope
