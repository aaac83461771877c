// Heatmaps: a device's history as two maps with one scale; time goes right, and latency goes up.
//
//     10ms |          .          |
//          |      .:.:#:.-       |      a cell: the number of requests in that interval with that
//          | -----##*##          |      latency. -: the p99 of that interval
//     10us | :::::::::::         |
//            older     newer
//
// Rows are equal steps of the latency's logarithm. A bucket may therefore cover several rows, or a
// row several buckets. A bucket's count is spread over the rows in proportion to the length.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/top/history.hpp"

namespace blkscope::top {

/// A range of the latency axis, in log10 of nanoseconds.
struct Span {
    double low = 0;
    double high = 0;
};

/// One map. Row 0 has the highest latency, and column 0 is the oldest.
struct Map {
    std::vector<double> counts;  // row by row
    std::vector<int> p99_row;    // per column; -1: no request was completed
};

struct Heatmaps {
    int columns = 0;
    int rows = 0;
    Span span = {};   // the range of all rows together
    double most = 0;  // the largest count in either map
    Map wait = {};
    Map service = {};

    /// The place of a cell in Map::counts.
    [[nodiscard]] size_t cell(int column, int row) const {
        return static_cast<size_t>(row) * static_cast<size_t>(columns) +
               static_cast<size_t>(column);
    }
    [[nodiscard]] double count(const Map& map, int column, int row) const;
    /// The latency at the lower end of a row, in nanoseconds.
    [[nodiscard]] double row_floor_ns(int row) const;
    /// The heat of a count, from 0 (no request) to heat_levels. The scale is logarithmic, up to
    /// `most`.
    [[nodiscard]] int level(double count) const;
};

/// The range of a bucket on the axis. The first bucket begins at 0, and the last bucket has no end.
/// In place of these, half or twice the other bound is used.
[[nodiscard]] Span bucket_span(const std::vector<uint64_t>& bounds, size_t bucket);

/// The maps of the newest `columns` intervals, in `rows` rows. The rows cover all requests of both
/// maps. The range is at least a decade. Both ends are 1, 2 or 5 times a power of ten.
[[nodiscard]] Heatmaps heatmaps(const History& history, int columns, int rows);

/// Upper bounds of the percentiles of the newest `columns` intervals.
struct Percentiles {
    uint64_t p50_ns;
    uint64_t p99_ns;
};

/// None if no request was completed in these intervals.
[[nodiscard]] std::optional<Percentiles> percentiles(const History& history, int columns,
                                                     std::vector<uint64_t> Column::*phase);

}  // namespace blkscope::top
