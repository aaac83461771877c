// Heatmaps: a device's history as two pictures with one scale, time to the right and latency up.
//
//     10ms |          .          |
//          |      .:.:#:.-       |      a cell: how many requests of that interval took as long
//          | -----##*##          |      -: the p99 of that interval
//     10us | :::::::::::         |
//            older     newer
//
// Rows are equal steps of the latency's logarithm, so a bucket may cover several of them, or they
// it: its count is spread over what it covers, by length.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tools/top/history.hpp"

namespace blkscope::top {

/// A stretch of the latency axis, in log10 of nanoseconds.
struct Span {
    double low = 0;
    double high = 0;
};

/// One picture. Row 0 is the slow end, column 0 the oldest.
struct Map {
    std::vector<double> counts;  // row by row
    std::vector<int> p99_row;    // of each column; -1: no request was completed
};

struct Heatmaps {
    int columns = 0;
    int rows = 0;
    Span span;        // what the rows cover, all together
    double most = 0;  // the largest count in either map
    Map wait;
    Map service;

    [[nodiscard]] double count(const Map& map, int column, int row) const;
    /// The latency that a row begins at, in nanoseconds.
    [[nodiscard]] double row_floor_ns(int row) const;
    /// How hot a count is, from 0 (nothing) to heat_levels, on a logarithmic scale up to the most.
    [[nodiscard]] int level(double count) const;
};

/// What a bucket covers of the axis. The first bucket, which begins at 0, and the last one, which
/// has no end, count as the double of their other bound.
[[nodiscard]] Span bucket_span(const std::vector<uint64_t>& bounds, size_t bucket);

/// The newest `columns` intervals in `rows` rows, which cover all requests in sight in either map,
/// from and to a 1, 2 or 5 of a decade; at least a decade.
[[nodiscard]] Heatmaps heatmaps(const History& history, int columns, int rows);

/// Percentiles of the newest `columns` intervals: no request of those covered took longer.
struct Percentiles {
    uint64_t p50_ns;
    uint64_t p99_ns;
};

/// Nothing if no request was completed in them.
[[nodiscard]] std::optional<Percentiles> percentiles(const History& history, int columns,
                                                     std::vector<uint64_t> Column::*phase);

}  // namespace blkscope::top
