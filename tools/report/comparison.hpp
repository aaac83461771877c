// Two runs side by side, and which figures differ by more than their own spread.
//
//     before   12 11 13 12 12 11 13 12 11 12       each run in ten parts of equal length
//     after    24 23 25 24 24 23 25 24 23 24
//              └ mean ± spread ┘
//
// The spread is the standard error of the mean of the parts. A figure differs if the distance of the
// means is above `spreads_min` spreads, and above `share_min` of the larger mean. A time must also differ
// by 20 us, and the length of a queue by 0.02.
//
// Units:     of each figure its own: requests, bytes or milliseconds.
// Ownership: nothing is kept. Threads: any.
// Errors:    std::invalid_argument for a text that is no report.
#pragma once

#include <string>
#include <vector>

namespace blkscope::report {

struct Compared {
    std::string device;
    std::string figure;  // as in "reads/s"
    double before = 0;
    double after = 0;
    double spread = 0;  // of both
    bool differs = false;
};

inline constexpr double spreads_min = 5;
inline constexpr double share_min = 0.05;

/// The data of a report: a file of HTML or of JSON.
[[nodiscard]] std::string data_in(const std::string& file);

/// The figures of the devices that are in both. A figure without a value in a run is left out. The
/// rates of an idle run are zero. A device that is in one report alone has one row, "only in before"
/// or "only in after". A device without any figure has one row, "nothing to compare". Neither
/// row has values: they are NaN.
[[nodiscard]] std::vector<Compared> compare(const std::string& before, const std::string& after);

/// A line for each figure; those that differ have a mark. A last line if no device is in both.
[[nodiscard]] std::string comparison_text(const std::vector<Compared>& figures);

/// The HTML file.
[[nodiscard]] std::string comparison_document(const std::string& before, const std::string& after,
                                              const std::vector<Compared>& figures);

}  // namespace blkscope::report
