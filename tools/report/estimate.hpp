// A figure of a run with an interval in which the true one lies, so that two runs tell a difference
// from noise.
//
//     samples  ─▶ ten parts of equal length ─▶ 12 11 13 12 12 11 13 12 11 12
//     a mean:        the parts' mean ± t · standard error
//     a percentile:  the ranks p ± t · standard error of the share below it, and the buckets there
//
// Requests that follow one another are alike, so they are not counted as independent: the error comes
// from the parts. A single run cannot show what stays alike for longer than a part, or what differs from
// run to run. Several runs can, by the spread of their values. For a single run the level is 99.5 %: two
// intervals of one true value, of the normal distribution, are apart in less than 1 of 10,000 cases.
//
// Units:   of each figure its own; of percentiles nanoseconds.
// Threads: pure functions of their arguments. Errors: nlohmann::json's, for a sample without a member.
// Source:  the method of batch means; for percentiles R. S. Woodruff, Confidence intervals for medians
//          and other position measures, 1952.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kstat/histogram/percentiles.hpp"

namespace blkscope::report {

/// A figure of a part is the sum of the one over the sum of the other, of its samples.
struct Sum {
    double value = 0;
    double weight = 0;
};

struct Estimate {
    double value = 0;
    double low = 0;
    double high = 0;  // infinite if the requests are too few to tell
};

/// The mean of `of` over the samples. None if less than two parts have a value.
[[nodiscard]] std::optional<Estimate> mean_of(const nlohmann::json& samples,
                                              Sum (*of)(const nlohmann::json& sample,
                                                        const char* key),
                                              const char* key);

/// A percentile of the total times of an operation, each known as a bucket: the value is the upper
/// edge, as in iostat, and the interval has whole buckets. None if less than two parts have requests.
[[nodiscard]] std::optional<Estimate> percentile_of(const nlohmann::json& samples,
                                                    const std::string& operation,
                                                    kstat2::PerMillion p);

/// How much the values of runs differ, of all runs of both sides, each from its side's mean.
struct Spread {
    double deviation = 0;  // of one run
    size_t freedom = 0;    // degrees of freedom; 0: no side has two runs, and the spread is unknown
};

[[nodiscard]] Spread spread_of(const std::vector<Estimate>& one,
                               const std::vector<Estimate>& other);

/// The figure of a side's runs: their mean. The interval is the wider one of two, at each end: what
/// the runs show within themselves, and what their spread is.
[[nodiscard]] Estimate of_runs(const std::vector<Estimate>& runs, const Spread& spread);

}  // namespace blkscope::report
