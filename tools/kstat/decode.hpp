// Turns a kstat's data section into statistics with names.
#pragma once

#include <sys/kstat.h>

#include <vector>

#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// The statistics in the data of `ksp`, in the order of its records. Records without a name, of
/// an unknown type or beyond ks_data_size are omitted. Of a TIMER kstat only the first record
/// counts.
///
/// Source: kstat(3KSTAT) for the types, kstat(1M) for the names of INTR and IO statistics.
[[nodiscard]] std::vector<Statistic> decode(const kstat_t& ksp);

}  // namespace blkscope::kstat_command
