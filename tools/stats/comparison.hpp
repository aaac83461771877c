// What blkscope stats shows of a device: each variable by the t-digest of the requests that were
// taken into its blob, and by the histogram of all requests, so that one can be held against the
// other.
#pragma once

#include <sys/kstat.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/iostat/histograms.hpp"
#include "tools/stats/blob.hpp"

namespace blkscope::stats_command {

/// A device as it was read.
struct Device {
    std::string name;
    int instance = 0;
    hrtime_t snaptime = 0;  // of the blob; ns of CLOCK_MONOTONIC
    Variables variables = {};
    std::string trouble = {};            // why there are none; empty: there are
    iostat::Histograms histograms = {};  // of a moment a little later; empty: it has none
};

/// The quantiles that are shown, in this order.
constexpr std::array<std::string_view, 4> quantile_names{"p50", "p90", "p99", "p99.9"};

/// A variable by one of the two. What it does not know is none.
struct Figures {
    uint64_t count = 0;
    std::optional<double> mean;
    std::optional<double> min;
    std::optional<double> max;
    std::array<std::optional<double>, quantile_names.size()> quantiles;
};

struct Row {
    std::string name;  // read_service
    std::string unit;  // ns, bytes; empty for a number
    std::optional<Figures> digest;
    std::optional<Figures> histogram;
};

/// The rows of a device, in the order of its variables. A variable "read_wait_ns" has the unit ns,
/// and belongs to the histogram read_wait; "size_bytes" to those of reads and writes together.
[[nodiscard]] std::vector<Row> compare(const Device& device);

}  // namespace blkscope::stats_command
