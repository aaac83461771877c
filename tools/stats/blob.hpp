// Decodes a blob of stats(3): the statistics of each of its variables.
//
// A blob contains the hash of its template, but no names. The names in templates that blkscope
// makes are known here. A variable of another template is called "voi" and its number.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace blkscope::stats_command {

/// A sum, an extreme or a bound, in the type of its variable; a Q number as a double.
using Number = std::variant<int64_t, uint64_t, double>;

struct Bucket {
    Number from;     // the lower bound, which belongs to the bucket; or the only value
    uint64_t count;  // of values
};

/// A quantile, computed from the t-digest.
struct Quantile {
    const char* name;  // p50, p90, p99, p99.9
    double value;
};

struct Variable {
    std::string name;
    /// The number of values in the t-digest, or in the histogram; none if there is neither.
    std::optional<uint64_t> count = {};
    std::optional<Number> sum = {};
    std::optional<Number> min = {};  // none until a value was counted, and so is `max`
    std::optional<Number> max = {};
    std::vector<Bucket> buckets = {};
    uint64_t outside = 0;  // values that belong into no bucket
    std::vector<Quantile> quantiles = {};
    uint64_t errors = 0;  // updates that a statistic could not take
};

/// The variables in the order of their numbers.
using Variables = std::vector<Variable>;

/// The variables of the blob. If this machine cannot read the bytes as a blob, the reason.
[[nodiscard]] Result<Variables, std::string> read_blob(std::span<const std::byte> bytes);

}  // namespace blkscope::stats_command
