// Makes lines of text from two snapshots: the columns of FreeBSD's gstat, and its CSV.
#pragma once

#include <string>
#include <vector>

#include "tools/gstat/filter.hpp"
#include "tools/gstat/options.hpp"
#include "tools/gstat/snapshot.hpp"

namespace blkscope::gstat {

/// A device's line in three parts: the text before %busy, %busy itself, and the text behind it.
struct Line {
    std::string figures;
    std::string busy;
    std::string name;
    double busy_percent;

    [[nodiscard]] std::string text() const { return figures + busy + name; }
};

/// `dT: 1.000s  w: 1.000s`, and the filter.
[[nodiscard]] std::string first_line(const Options& options, double elapsed_s);

/// The names of the columns.
[[nodiscard]] std::string header(const Options& options);

/// A line for each device that the options and the filter show.
[[nodiscard]] std::vector<Line> lines(const Options& options, const Filter& filter,
                                      const Snapshot& before, const Snapshot& now);

/// The header and the lines in CSV. A device whose entry was being updated during the read is
/// omitted.
[[nodiscard]] std::string csv_header(const Options& options);
[[nodiscard]] std::string csv_lines(const Options& options, const Filter& filter,
                                    const Snapshot& before, const Snapshot& now);

}  // namespace blkscope::gstat
