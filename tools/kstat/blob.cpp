#include "tools/kstat/blob.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "tools/stats/blob.hpp"

namespace blkscope::kstat_command {
namespace {

using stats_command::Bucket;
using stats_command::Number;
using stats_command::Variable;

Value value_of(const Number& number) {
    return std::visit([](auto value) { return Value(value); }, number);
}

std::string text(const Number& number, size_t width) {
    return std::visit([&](auto value) { return fmt::format("{:0{}}", value, width); }, number);
}

void append_buckets(std::vector<Statistic>& statistics, const Variable& variable) {
    size_t width = 0;
    for (const Bucket& bucket : variable.buckets) {
        width = std::max(width, text(bucket.from, 0).size());
    }
    for (const Bucket& bucket : variable.buckets) {
        if (bucket.count == 0) continue;
        statistics.push_back({variable.name + "_bucket_" + text(bucket.from, width), bucket.count});
    }
}

void append(std::vector<Statistic>& statistics, const Variable& variable) {
    const auto add = [&](const char* what, const std::optional<Number>& number) {
        if (number) statistics.push_back({variable.name + what, value_of(*number)});
    };
    if (variable.count) add("_count", *variable.count);
    add("_sum", variable.sum);
    add("_min", variable.min);
    add("_max", variable.max);
    for (const auto& [name, value] : variable.quantiles) {
        statistics.push_back({variable.name + "_" + name, value});
    }
    append_buckets(statistics, variable);
    if (variable.outside != 0) add("_outside", variable.outside);
    if (variable.errors != 0) add("_errors", variable.errors);
}

}  // namespace

bool is_blob(const kstat_t& ksp) {
    return field_text(ksp.ks_module) == "stats";
}

std::vector<Statistic> decode_blob(const kstat_t& ksp) {
    if (ksp.ks_data == nullptr) return {};
    const auto variables = stats_command::read_blob(
        {static_cast<const std::byte*>(ksp.ks_data), static_cast<size_t>(ksp.ks_data_size)});
    if (!variables) return {{"error", Text(variables.error())}};
    std::vector<Statistic> statistics;
    for (const Variable& variable : *variables) append(statistics, variable);
    return statistics;
}

}  // namespace blkscope::kstat_command
