#include "tools/stats/comparison.hpp"

#include <algorithm>
#include <utility>

namespace blkscope::stats_command {
namespace {

constexpr std::array<kstat2::PerMillion, quantile_names.size()> shares{kstat2::p50, kstat2::p90,
                                                                       kstat2::p99, kstat2::p999};

std::optional<double> as_double(const std::optional<Number>& number) {
    if (!number) return {};
    return std::visit([](auto value) { return static_cast<double>(value); }, *number);
}

std::optional<double> as_double(const std::optional<uint64_t>& number) {
    if (!number) return {};
    return static_cast<double>(*number);
}

std::optional<double> mean(const std::optional<double>& sum, uint64_t count) {
    if (!sum || count == 0) return {};
    return *sum / static_cast<double>(count);
}

std::optional<Figures> by_digest(const Variable& variable) {
    if (!variable.count) return {};
    Figures figures{.count = *variable.count,
                    .mean = mean(as_double(variable.sum), *variable.count),
                    .min = as_double(variable.min),
                    .max = as_double(variable.max)};
    for (const Quantile& quantile : variable.quantiles) {
        const auto* const place = std::ranges::find(quantile_names, quantile.name);
        if (place == quantile_names.end()) continue;
        figures.quantiles[static_cast<size_t>(place - quantile_names.begin())] = quantile.value;
    }
    return figures;
}

Figures by_histogram(const iostat::Histogram& histogram) {
    Figures figures{.count = histogram.count(),
                    .mean = mean(as_double(histogram.sum), histogram.count()),
                    .max = as_double(iostat::percentile(histogram, kstat2::whole))};
    for (size_t i = 0; i < shares.size(); ++i) {
        figures.quantiles[i] = as_double(iostat::percentile(histogram, shares[i]));
    }
    return figures;
}

// A histogram of reads or of writes has this name. For both together the phase is the name.
std::optional<iostat::Histogram> histogram_of(const iostat::Histograms& histograms,
                                              std::string_view name) {
    const auto found = histograms.find(name);
    return found != histograms.end() ? found->second : iostat::of_transfers(histograms, name);
}

// Splits "read_wait_ns" into "read_wait" and "ns".
std::pair<std::string, std::string> name_and_unit(const std::string& name) {
    for (const char* unit : {"ns", "bytes"}) {
        const std::string end = std::string("_") + unit;
        if (name.ends_with(end)) return {name.substr(0, name.size() - end.size()), unit};
    }
    return {name, ""};
}

}  // namespace

std::vector<Row> compare(const Device& device) {
    std::vector<Row> rows;
    for (const Variable& variable : device.variables) {
        auto [name, unit] = name_and_unit(variable.name);
        const auto histogram = histogram_of(device.histograms, name);
        rows.push_back({.name = std::move(name),
                        .unit = std::move(unit),
                        .digest = by_digest(variable),
                        .histogram = histogram ? std::optional(by_histogram(*histogram))
                                               : std::optional<Figures>()});
    }
    return rows;
}

}  // namespace blkscope::stats_command
