// From a kstat's data section to statistics with names.
#pragma once

#include <sys/kstat.h>

#include <vector>

#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// The statistics in the data of `ksp`, in the order they stand there. Records without a name or of
/// an unknown type are left out, and so is what does not fit into ks_data_size. Of a TIMER kstat
/// only the first record counts.
///
/// Source: kstat(3KSTAT) for the types, kstat(1M) for the names of INTR and IO statistics.
[[nodiscard]] std::vector<Statistic> decode(const kstat_t& ksp);

}  // namespace blkscope::kstat_command
