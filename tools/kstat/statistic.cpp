#include "tools/kstat/statistic.hpp"

#include <strings.h>

#include <algorithm>

namespace blkscope::kstat_command {

bool name_before(std::string_view one, std::string_view other) {
    const int order = strncasecmp(one.data(), other.data(), std::min(one.size(), other.size()));
    return order != 0 ? order < 0 : one.size() < other.size();
}

}  // namespace blkscope::kstat_command
