#include "tools/top/heatmap.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kstat/histogram/percentiles.hpp"
#include "tools/top/screen.hpp"

namespace blkscope::top {
namespace {

using Phase = std::vector<uint64_t> Column::*;

constexpr double octave = 0.30102999566398120;   // log10 of 2
constexpr Span empty_span{.low = 3, .high = 7};  // 1 us to 10 ms, used without requests
constexpr double least_span = 1;                 // a decade
constexpr double rounding = 1e-9;                // the largest rounding error of sums of logarithms
constexpr std::array steps{0.0, octave, 1 - octave, 1.0};  // 1, 2, 5, 10

double step_below(double value) {
    const double decade = std::floor(value + rounding);
    double below = decade;
    for (const double step : steps) {
        if (decade + step <= value + rounding) below = decade + step;
    }
    return below;
}

double step_above(double value) {
    const double decade = std::floor(value + rounding);
    for (const double step : steps) {
        if (decade + step >= value - rounding) return decade + step;
    }
    return decade + 1;
}

// Extends `span` to all buckets of the column that are not empty.
void cover(std::optional<Span>& span, const Column& column, Phase phase) {
    const std::vector<uint64_t>& counts = column.*phase;
    for (size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0) continue;
        const Span bucket = bucket_span(*column.bounds, i);
        if (!span) span = bucket;
        span->low = std::min(span->low, bucket.low);
        span->high = std::max(span->high, bucket.high);
    }
}

size_t visible(const History& history, int columns) {
    return std::min(history.size(), static_cast<size_t>(std::max(columns, 0)));
}

Span span_of(const History& history, int columns) {
    std::optional<Span> span;
    for (size_t ago = 0; ago < visible(history, columns); ++ago) {
        const Column& column = history.ago(ago);
        if (column.bounds == nullptr) continue;
        cover(span, column, &Column::wait);
        cover(span, column, &Column::service);
    }
    if (!span) return empty_span;
    Span rounded{.low = step_below(span->low), .high = step_above(span->high)};
    if (rounded.high - rounded.low < least_span) rounded.high = rounded.low + least_span;
    return rounded;
}

// Draws one column of a map.
class Painter {
  public:
    Painter(Heatmaps& maps, Map& map, int column) : maps_(maps), map_(map), column_(column) {}

    void paint(const Column& from, Phase phase) {
        const std::vector<uint64_t>& counts = from.*phase;
        for (size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] != 0) spread(bucket_span(*from.bounds, i), counts[i]);
        }
        const auto p99 = kstat2::percentile_bucket(counts, kstat2::p99);
        if (!p99) return;
        // The upper end of the p99's bucket: 99 of 100 requests are in its row or below that row.
        const double high = bucket_span(*from.bounds, *p99).high;
        map_.p99_row[static_cast<size_t>(column_)] = row_below(high);
    }

  private:
    [[nodiscard]] double row_height() const {
        return (maps_.span.high - maps_.span.low) / maps_.rows;
    }

    // The row that contains `value`; a value at a row's upper end belongs to that row.
    [[nodiscard]] int row_below(double value) const {
        const double from_top = (maps_.span.high - value) / row_height();
        return std::clamp(static_cast<int>(from_top + rounding), 0, maps_.rows - 1);
    }

    void spread(Span bucket, uint64_t count) {
        const double height = row_height();
        for (int row = row_below(bucket.high); row < maps_.rows; ++row) {
            const double top = maps_.span.high - row * height;
            const double shared = std::min(top, bucket.high) - std::max(top - height, bucket.low);
            if (shared <= rounding) break;
            const double share = shared / (bucket.high - bucket.low);
            double& cell = map_.counts[maps_.cell(column_, row)];
            cell += share * static_cast<double>(count);
            maps_.most = std::max(maps_.most, cell);
        }
    }

    Heatmaps& maps_;
    Map& map_;
    int column_;
};

}  // namespace

double Heatmaps::count(const Map& map, int column, int row) const {
    return map.counts[cell(column, row)];
}

double Heatmaps::row_floor_ns(int row) const {
    return std::pow(10, span.high - (row + 1) * (span.high - span.low) / rows);
}

int Heatmaps::level(double count) const {
    if (count <= 0 || most <= 0) return 0;
    const double share = std::log1p(count) / std::log1p(most);
    return std::clamp(static_cast<int>(std::ceil(share * heat_levels - rounding)), 1, heat_levels);
}

Span bucket_span(const std::vector<uint64_t>& bounds, size_t bucket) {
    const auto edge = [&](size_t i) { return std::log10(static_cast<double>(bounds[i])); };
    if (bucket + 1 >= bounds.size()) return {.low = edge(bucket), .high = edge(bucket) + octave};
    if (bounds[bucket] == 0) return {.low = edge(bucket + 1) - octave, .high = edge(bucket + 1)};
    return {.low = edge(bucket), .high = edge(bucket + 1)};
}

Heatmaps heatmaps(const History& history, int columns, int rows) {
    Heatmaps maps{.columns = std::max(columns, 0), .rows = std::max(rows, 0)};
    maps.span = span_of(history, maps.columns);
    for (Map* map : {&maps.wait, &maps.service}) {
        map->counts.assign(static_cast<size_t>(maps.columns) * static_cast<size_t>(maps.rows), 0);
        map->p99_row.assign(static_cast<size_t>(maps.columns), -1);
    }
    if (maps.rows == 0) return maps;
    for (size_t ago = 0; ago < visible(history, maps.columns); ++ago) {
        const Column& from = history.ago(ago);
        if (from.bounds == nullptr) continue;
        const int column = maps.columns - 1 - static_cast<int>(ago);
        Painter(maps, maps.wait, column).paint(from, &Column::wait);
        Painter(maps, maps.service, column).paint(from, &Column::service);
    }
    return maps;
}

std::optional<Percentiles> percentiles(const History& history, int columns, Phase phase) {
    std::vector<uint64_t> sum;
    Bounds bounds;
    for (size_t ago = 0; ago < visible(history, columns); ++ago) {
        const Column& column = history.ago(ago);
        if (column.bounds == nullptr) continue;
        if (bounds == nullptr) bounds = column.bounds;
        // A device that was created anew may have other buckets; such counts cannot be added.
        if (*bounds != *column.bounds) break;
        const std::vector<uint64_t>& counts = column.*phase;
        sum.resize(std::max(sum.size(), counts.size()));
        for (size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
    }
    if (bounds == nullptr) return std::nullopt;
    const auto upper = [&](kstat2::PerMillion p) {
        return kstat2::percentile(
            sum, p, [&](size_t i) { return (*bounds)[i]; }, bounds->size());
    };
    const auto p50 = upper(kstat2::p50);
    const auto p99 = upper(kstat2::p99);
    if (!p50 || !p99) return std::nullopt;
    return Percentiles{.p50_ns = p50->upper, .p99_ns = p99->upper};
}

}  // namespace blkscope::top
