// RAW kstats whose data are a blob of stats(3): the kstats of the module stats.
//
// A variable `lat` gives these statistics, as far as the blob has them:
//
//     lat_count   lat_sum   lat_min   lat_max      the values; extremes only after the first value
//     lat_p50   lat_p90   lat_p99   lat_p99.9      quantiles by its t-digest
//     lat_bucket_1024                              values from 1024 on, up to the next bucket
//     lat_outside                                  values that belong into no bucket
//     lat_errors                                   updates that some statistic could not take
//
// Buckets without values are omitted, because there may be hundreds. lat_outside and lat_errors
// are omitted while they are 0. Bounds have leading zeroes: the order of the names is then the
// order of the bounds.
#pragma once

#include <sys/kstat.h>

#include <vector>

#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// Whether the header's names are those of a blob.
[[nodiscard]] bool is_blob(const kstat_t& ksp);

/// The statistics in the blob. If the data are no blob that can be read here, one statistic,
/// `error`, says why. Empty if the data were not read.
[[nodiscard]] std::vector<Statistic> decode_blob(const kstat_t& ksp);

}  // namespace blkscope::kstat_command
