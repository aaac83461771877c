// The recent latencies of a device, one interval after another, from which a heatmap is drawn.
//
//     oldest                     newest
//       [c][c][c][ ][c] ... [c][c]        each column: requests completed between two looks
//        512 at most        ago(1) ago(0)
#pragma once

#include <sys/kstat.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "tools/top/look.hpp"

namespace blkscope::top {

/// The requests of one interval. Without bounds the counts are unknown: the device was not there,
/// or publishes no histograms.
struct Column {
    hrtime_t elapsed_ns = 0;
    Bounds bounds = nullptr;
    std::vector<uint64_t> wait = {};
    std::vector<uint64_t> service = {};
    std::vector<uint64_t> receive = {};
    std::vector<uint64_t> reply = {};
};

class History {
  public:
    static constexpr size_t columns_max = 512;  // wider than usual terminals

    /// Adds the newest column, and removes the oldest if there are too many. Empty buckets behind the
    /// last one with a count take no memory.
    void add(Column column) {
        for (const auto counts :
             {&Column::wait, &Column::service, &Column::receive, &Column::reply}) {
            trim(column.*counts);
        }
        columns_.push_back(std::move(column));
        if (columns_.size() > columns_max) columns_.pop_front();
    }

    [[nodiscard]] size_t size() const { return columns_.size(); }

    /// The column `columns` intervals before the newest; `columns` must be less than size().
    [[nodiscard]] const Column& ago(size_t columns) const {
        assert(columns < columns_.size());
        return columns_[columns_.size() - 1 - columns];
    }

  private:
    static void trim(std::vector<uint64_t>& counts) {
        while (!counts.empty() && counts.back() == 0) counts.pop_back();
        counts.shrink_to_fit();
    }

    std::deque<Column> columns_;
};

}  // namespace blkscope::top
