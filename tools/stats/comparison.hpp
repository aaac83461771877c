// The figures that blkscope stats shows of a device. Each variable has two sets of figures, for
// comparison. One is from the t-digest in its blob, which has the sampled requests. The other is
// from the histogram, which has all requests.
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

/// A device at the time of reading.
struct Device {
    std::string name;
    int provider = 0;  // its process id
    int instance = 0;
    hrtime_t snaptime = 0;  // time of the blob; ns of CLOCK_MONOTONIC
    Variables variables = {};
    std::string trouble = {};            // why there are no variables; empty if there are
    iostat::Histograms histograms = {};  // read a little later; empty if the device has none
};

/// The quantiles in the order of the columns.
constexpr std::array<std::string_view, 4> quantile_names{"p50", "p90", "p99", "p99.9"};

/// The figures of a variable by the t-digest or by the histogram. A figure that the source lacks is
/// none.
struct Figures {
    uint64_t count = 0;
    std::optional<double> mean = {};
    std::optional<double> min = {};
    std::optional<double> max = {};
    std::array<std::optional<double>, quantile_names.size()> quantiles = {};
};

struct Row {
    std::string name;  // read_service
    std::string unit;  // ns, bytes; empty for a number
    std::optional<Figures> digest;
    std::optional<Figures> histogram;
};

/// The rows of a device, in the order of its variables. A variable "read_wait_ns" has the unit ns,
/// and belongs to the histogram read_wait. "size_bytes" belongs to the histograms of reads and
/// writes together.
[[nodiscard]] std::vector<Row> compare(const Device& device);

}  // namespace blkscope::stats_command
