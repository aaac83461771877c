// Two runs side by side, or several of each side, and which figures differ by more than noise.
//
//     before       ├─── 12 ───┤                     each figure with its interval: estimate.hpp
//     after                        ├─── 24 ───┤     apart: they differ
//
// A figure differs if the intervals are apart, and the values by more than `share_min` of the larger
// one. A time must also differ by 10 us, a mean wait by 20 us, and the length of a queue by 0.02.
//
// Units:     of each figure its own: requests, bytes or milliseconds.
// Ownership: nothing is kept. Threads: any.
// Errors:    std::invalid_argument for a text that is no report; the message names its file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/estimate.hpp"

namespace blkscope::report {

/// What a growing figure means: a time grows when the device is slower, a rate shrinks.
enum class Worse { neither, more, less };

struct Compared {
    std::string device;
    std::string figure;    // as in "reads/s"
    Estimate before = {};  // NaN without a value
    Estimate after = {};
    double distance_min = 0;  // less is no difference; below it a value is as good as zero
    Worse worse = Worse::neither;
    bool differs = false;
};

inline constexpr double share_min = 0.05;

/// What `--fail-if-slower` says of a comparison.
struct Gate {
    bool is_failed = false;
    std::string headline;  // "FAILED: ..." or "PASSED: ..."
};

/// The content of a file, HTML or JSON, that should have a report inside.
struct SavedReport {
    std::string path;
    std::string content;
};

struct Comparison {
    std::vector<Compared> rows;
    /// A line for each server that was late itself in a run, as its report has it.
    std::vector<std::string> late;
    std::string before;  // the data of the first run of each side, in one line
    std::string after;
    size_t before_runs = 1;
    size_t after_runs = 1;
};

/// The figures of the devices that are in both. With several runs of a side, each figure is the mean
/// of those runs that have it. A figure without a value on a side is left out. The
/// rates of an idle run are zero. A device that is on one side alone has one row, "only in before"
/// or "only in after". A device without any figure has one row, "nothing to compare". Neither
/// row has values: they are NaN.
[[nodiscard]] Comparison compare(const std::vector<SavedReport>& before,
                                 const std::vector<SavedReport>& after);

/// The share of "10%" or "2.5 %"; none for another text.
[[nodiscard]] std::optional<double> slower_share(const std::string& text);

/// Fails if a time has grown, or a rate has shrunk, by more than this share and more than noise. Also
/// if a device of `before` has nothing to compare.
[[nodiscard]] Gate gate(const std::vector<Compared>& figures, double share);

/// A line for each figure; those that differ have a mark. A last line if no device is in both.
[[nodiscard]] std::string comparison_text(const std::vector<Compared>& figures);

/// The data, schema blkscope.comparison/1. Without a gate there is no verdict.
[[nodiscard]] std::string comparison_data(const Comparison& comparison,
                                          const std::optional<Gate>& gate);

/// The HTML file, with this data.
[[nodiscard]] std::string comparison_document(const std::string& data);

}  // namespace blkscope::report
