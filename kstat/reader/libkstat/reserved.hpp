// The first two kstats of every chain. No process publishes them: they describe the reader's own
// chain.
#pragma once

#include <sys/kstat.h>

#include "kstat/host/data.hpp"

namespace blkscope::kstat {

inline constexpr kid_t headers_kid = 0;
inline constexpr kid_t types_kid = 1;
inline constexpr kid_t first_free_kid = 2;

/// unix:0:kstat_headers: every header of the chain, itself included, in the chain's order.
kstat_t headers_kstat();
host::Data headers_data(const kstat_t* chain);

/// unix:0:kstat_types: the name of each type, and its number.
kstat_t types_kstat();
host::Data types_data();

}  // namespace blkscope::kstat
