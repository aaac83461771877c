#include "base/descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>

namespace blkscope {
namespace {

std::optional<rlim_t> inherited;  // none unless the limit was raised

}  // namespace

void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max) return;
    assert(limit.rlim_cur < limit.rlim_max);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) inherited = before;
}

void restore_descriptor_limit() {
    rlimit limit{};
    if (!inherited || getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
    limit.rlim_cur = std::min(*inherited, limit.rlim_max);  // the hard one may be lower by now
    setrlimit(RLIMIT_NOFILE, &limit);
}

uint64_t descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return std::numeric_limits<uint64_t>::max();
    return limit.rlim_cur;
}

}  // namespace blkscope
