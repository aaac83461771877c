#include "base/descriptor_limit.hpp"

#include <sys/resource.h>

#include <cassert>
#include <limits>

namespace blkscope {

void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max) return;
    assert(limit.rlim_cur < limit.rlim_max);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

uint64_t descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return std::numeric_limits<uint64_t>::max();
    return limit.rlim_cur;
}

}  // namespace blkscope
