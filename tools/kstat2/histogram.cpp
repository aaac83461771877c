#include "tools/kstat2/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "kstat/histogram/buckets.hpp"
#include "tools/kstat2/units.hpp"

namespace blkscope::kstat2_command {
namespace {

constexpr uint64_t bar_length_max = 40;

struct Row {
    std::string bounds;  // "512 us – 1.023 ms"
    uint64_t count;
    uint64_t covered;  // number in this row and the rows above
};

std::optional<kstat2::Buckets> shape_of(const Reading& reading) {
    const uint64_t* const type = find_number(reading, "type");
    const uint64_t* const min = find_number(reading, "range_min");
    const uint64_t* const max = find_number(reading, "range_max");
    const uint64_t* const step = find_number(reading, "stepping");
    if (type == nullptr || min == nullptr || max == nullptr || step == nullptr) return {};
    if (*type > KSTAT2_NVHIST_LOG10_LIN) return {};
    const kstat2::Buckets buckets(static_cast<kstat2_nv_hist_type_t>(*type), *min, *max, *step);
    if (buckets.why_invalid() != nullptr) return {};
    return buckets;
}

std::string bounds_of(const kstat2::Buckets& buckets, uint32_t i, const Meaning& meaning,
                      bool scaled) {
    const auto text = [&](uint64_t bound) { return number_text(bound, meaning, scaled); };
    const bool is_last = i + 1 == buckets.count();
    // The last bucket has no end: its upper bound 2^64-1 is no bound that a provider chose.
    return fmt::format("{} – {}", text(buckets.lower(i)), is_last ? "inf" : text(buckets.upper(i)));
}

std::vector<Row> rows_of(const kstat2::Buckets& buckets, const std::vector<uint64_t>& counts,
                         const Meaning& meaning, bool scaled) {
    const auto is_filled = [](uint64_t count) { return count != 0; };
    const auto first = std::ranges::find_if(counts, is_filled);
    const auto last = std::find_if(counts.rbegin(), counts.rend(), is_filled).base();
    std::vector<Row> rows;
    uint64_t covered = 0;
    for (auto at = first; at < last; ++at) {
        covered += *at;
        const auto i = static_cast<uint32_t>(at - counts.begin());
        rows.push_back({bounds_of(buckets, i, meaning, scaled), *at, covered});
    }
    return rows;
}

// Counts characters, not bytes: continuation bytes of UTF-8 begin with the bits 10.
size_t width_of(std::string_view text) {
    return static_cast<size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// A bucket that is not empty has a bar of at least one character.
uint64_t bar_length(uint64_t count, uint64_t count_max) {
    const double share = static_cast<double>(count) / static_cast<double>(count_max);
    const auto length = static_cast<uint64_t>(share * static_cast<double>(bar_length_max));
    return std::max<uint64_t>(length, count == 0 ? 0 : 1);
}

}  // namespace

std::optional<std::string> draw_histogram(const Reading& reading, std::string_view indent,
                                          bool scaled) {
    const Statistic* const statistic = find(reading, "buckets");
    const auto* const counts =
        statistic == nullptr ? nullptr : std::get_if<std::vector<uint64_t>>(&statistic->value);
    const auto buckets = shape_of(reading);
    if (counts == nullptr || !buckets || counts->size() > buckets->count()) return std::nullopt;
    const auto rows = rows_of(*buckets, *counts, statistic->meaning, scaled);
    if (rows.empty()) return fmt::format("{}nothing counted yet\n", indent);
    size_t width = 0;
    for (const Row& row : rows) width = std::max(width, width_of(row.bounds));
    const uint64_t count_max = std::ranges::max(*counts);
    std::string out;
    for (const Row& row : rows) {
        const double percent =
            100 * static_cast<double>(row.covered) / static_cast<double>(rows.back().covered);
        fmt::format_to(std::back_inserter(out), "{}{:{}}{} | {:40} | {:10} | {:6.2f} %\n", indent,
                       "", width - width_of(row.bounds), row.bounds,
                       std::string(bar_length(row.count, count_max), '#'), row.count, percent);
    }
    return out;
}

}  // namespace blkscope::kstat2_command
