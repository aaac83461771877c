// Zones: the list of the zones that see a kstat. Most kstats have one zone, which needs no memory
// beside the list itself.
#pragma once

#include <sys/kstat.h>

#include <boost/container/small_vector.hpp>

namespace blkscope::kstat {

using Zones = boost::container::small_vector<zoneid_t, 2>;

}  // namespace blkscope::kstat
