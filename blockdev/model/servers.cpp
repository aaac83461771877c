#include "blockdev/model/servers.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>

namespace blkscope::model {

Servers::Servers(uint32_t count) : ends_(count, std::numeric_limits<hrtime_t>::min()) {
    assert(count > 0);
}

void Servers::resize(uint32_t count) {
    assert(count > 0);
    if (count < ends_.size()) std::sort(ends_.begin(), ends_.end(), std::greater<>());
    ends_.resize(count, std::numeric_limits<hrtime_t>::min());
}

Stay Servers::take(hrtime_t ready, hrtime_t service) {
    const auto first = std::min_element(ends_.begin(), ends_.end());
    return take_server(static_cast<uint32_t>(first - ends_.begin()), ready, service);
}

Stay Servers::take_server(uint32_t server, hrtime_t ready, hrtime_t service) {
    assert(server < ends_.size());
    assert(service >= 0);
    constexpr hrtime_t last = std::numeric_limits<hrtime_t>::max();
    const hrtime_t begin = std::max(ready, ends_[server]);
    ends_[server] = begin <= last - service ? begin + service : last;
    return {server, begin, ends_[server]};
}

void Servers::overrun(uint32_t server, hrtime_t end) {
    // The server may be one of those that resize() has removed.
    if (server < ends_.size()) ends_[server] = std::max(ends_[server], end);
}

}  // namespace blkscope::model
