// RAW kstats that are a blob of stats(3): those of the module stats.
//
// Of a variable `lat` there are
//
//     lat_count   lat_sum   lat_min   lat_max      what was counted; the extremes once there is one
//     lat_p50   lat_p90   lat_p99   lat_p99.9      by its t-digest
//     lat_bucket_1024                              values from 1024 on, up to the next bucket
//     lat_outside                                  values that belong into no bucket
//     lat_errors                                   updates that some statistic could not take
//
// of those that the variable has. Buckets without values are left out, for there may be hundreds;
// so are lat_outside and lat_errors while they are 0. Bounds have leading zeroes, so that they are
// in order when the names are.
#pragma once

#include <sys/kstat.h>

#include <vector>

#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// Whether the header's names are those of a blob.
[[nodiscard]] bool is_blob(const kstat_t& ksp);

/// What is in the blob. If the data are none that can be read here, one statistic, `error`, says
/// why; none if they were not read.
[[nodiscard]] std::vector<Statistic> decode_blob(const kstat_t& ksp);

}  // namespace blkscope::kstat_command
