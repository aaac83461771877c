// How a device's requests are spread over times and sizes, as its provider counted them.
//
//     counts then      0  5  20  70  5
//     counts now       0  5  24  90  6
//     the interval     0  0   4  20  1       percentiles are taken of this: they cannot be
//     subtracted
//
// A bucket knows the bounds of its values and not the values, so a percentile is the bucket that it
// falls into, shown by its upper end: so many of the requests took no longer.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kstat/histogram/buckets.hpp"
#include "kstat/histogram/percentiles.hpp"

namespace blkscope::iostat {

struct Histogram {
    kstat2::Buckets shape;
    std::vector<uint64_t> counts;  // may be shorter than the shape: what is missing is 0
    std::string unit;              // of the values: ns, bytes; empty if it is not known
    hrtime_t crtime = 0;
    std::optional<uint64_t> sum = {};  // of the values, where the provider tells it

    [[nodiscard]] uint64_t count() const { return kstat2::total(counts); }
    [[nodiscard]] bool like(const Histogram& other) const;
};

/// Those of a device by their names: read_wait, write_total, ... Empty: it has none.
using Histograms = std::map<std::string, Histogram, std::less<>>;

/// What came between two readings. A histogram that was made anew in between counts since then.
[[nodiscard]] Histograms difference(const Histograms& before, const Histograms& now);

/// The histograms `read_PHASE` and `write_PHASE` as one; nothing if there is none of them.
[[nodiscard]] std::optional<Histogram> of_transfers(const Histograms& histograms,
                                                    std::string_view phase);

/// The upper end of the bucket in which the percentile lies, itself included; of the last bucket,
/// which has none, the lower one. Nothing if nothing was counted.
[[nodiscard]] std::optional<uint64_t> percentile(const Histogram& histogram, kstat2::PerMillion p);

}  // namespace blkscope::iostat
