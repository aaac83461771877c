// A blob of stats(3), taken apart: what was counted of each of its variables.
//
// A blob says which template it was made from by a hash, and has no names. Those of the templates
// that blkscope makes are known here; a variable of another is called "voi" and its number.
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

namespace blkscope::stats_command {

/// A sum, an extreme or a bound, as its variable's type has it; a Q number as a double.
using Number = std::variant<int64_t, uint64_t, double>;

struct Bucket {
    Number from;     // the lower bound, itself included; or the value, if there is just one
    uint64_t count;  // of values
};

/// A quantile by the t-digest.
struct Quantile {
    const char* name;  // p50, p90, p99, p99.9
    double value;
};

struct Variable {
    std::string name;
    /// Of values, as the t-digest has it, or the histogram; none if there is neither.
    std::optional<uint64_t> count = {};
    std::optional<Number> sum = {};
    std::optional<Number> min = {};  // none as long as nothing was counted, and so the next
    std::optional<Number> max = {};
    std::vector<Bucket> buckets = {};
    uint64_t outside = 0;  // values that belong into no bucket
    std::vector<Quantile> quantiles = {};
    uint64_t errors = 0;  // updates that some statistic could not take
};

/// In the order of their numbers.
using Variables = std::vector<Variable>;

/// What is in the blob; or, if the bytes are not one that this machine can read, why.
[[nodiscard]] std::variant<Variables, std::string> read_blob(std::span<const std::byte> bytes);

}  // namespace blkscope::stats_command
