// Histograms of a device's requests over times and sizes, as its provider counted them.
//
//     counts then      0  5  20  70  5
//     counts now       0  5  24  90  6
//     the interval     0  0   4  20  1
//
// Percentiles are computed from the interval's counts, because percentiles cannot be subtracted. A
// bucket has the bounds of its values, but not the values. A percentile is therefore the upper
// bound of its bucket: at least that share of the requests took no longer.
#pragma once

#include <sys/kstat.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kstat/histogram/buckets.hpp"
#include "kstat/histogram/percentiles.hpp"

namespace blkscope::iostat {

/// The name of each type of histogram in JSON, by its number.
inline constexpr std::array histogram_types{"linear", "log2", "log10", "log10_lin"};
static_assert(histogram_types.size() == KSTAT2_NVHIST_LOG10_LIN + 1);

struct Histogram {
    kstat2::Buckets shape;
    std::vector<uint64_t> counts = {};  // may be shorter than the shape; missing counts are 0
    std::string unit;                   // of the values: ns, bytes; empty if unknown
    hrtime_t crtime = 0;
    std::optional<uint64_t> sum = {};  // of the values, if the provider has it

    [[nodiscard]] uint64_t count() const { return kstat2::total(counts); }
    [[nodiscard]] bool like(const Histogram& other) const;
};

/// The histograms of a device by name: read_wait, write_total, ... Empty if there are none.
using Histograms = std::map<std::string, Histogram, std::less<>>;

/// The counts between two readings. A histogram that was created between these counts as a whole.
[[nodiscard]] Histograms difference(const Histograms& before, const Histograms& now);

/// The sum of the histograms `read_PHASE` and `write_PHASE`; none if both are missing.
[[nodiscard]] std::optional<Histogram> of_transfers(const Histograms& histograms,
                                                    std::string_view phase);

/// The upper bound of the percentile's bucket; the bound belongs to the bucket. The last bucket has
/// no upper bound, so its lower bound is returned. None if nothing was counted.
[[nodiscard]] std::optional<uint64_t> percentile(const Histogram& histogram, kstat2::PerMillion p);

}  // namespace blkscope::iostat
