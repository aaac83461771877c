#include "blockdev/accounting/slowest.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/clock.hpp"
#include "blockdev/accounting/recorder.hpp"
#include "blockdev/device/device.hpp"
#include "blockdev/device/lane.hpp"

namespace blkscope {

// The place of the second is that of the second a minute ago.
void Slowest::begin_second(const Buf& buf) {
    assert(buf.lane != nullptr);
    const Kernel& kernel = buf.lane->kernel();
    const hrtime_t number = kernel_ns(kernel, buf.replied) / ns_per_s + 1;
    current_ = &(*board_)[static_cast<size_t>(number) % seconds];
    current_->number = number;
    current_->count = 0;
    full_ = false;
    second_end_ = kernel_ticks(kernel, number * ns_per_s);
    assert(second_end_ > buf.replied);
}

void Slowest::insert(const Buf& buf, hrtime_t ticks) {
    assert(current_ != nullptr && current_->count <= per_second);
    const size_t place =
        full_ ? static_cast<size_t>(std::ranges::min_element(ticks_) - ticks_.begin())
              : current_->count++;
    const trace::Request request = recorded(buf.lane->kernel(), buf, buf.lane->device().instance());
    std::memcpy(current_->requests[place].data(), &request, sizeof request);
    ticks_[place] = ticks;
    full_ = current_->count == per_second;
    if (full_) least_ = std::ranges::min(ticks_);
}

std::vector<trace::Request> Slowest::list(hrtime_t now_ns, hrtime_t over_ns) const {
    const hrtime_t now = now_ns / ns_per_s + 1;
    std::vector<trace::Request> found;
    for (const Second& second : *board_) {
        const bool recent =
            second.number > 0 && second.number + static_cast<hrtime_t>(seconds) > now;
        for (size_t i = 0; recent && i < second.count; ++i) {
            trace::Request request;
            std::memcpy(&request, second.requests[i].data(), sizeof request);
            if (request.replied - request.arrival() >= over_ns) found.push_back(request);
        }
    }
    std::ranges::sort(found, [](const trace::Request& one, const trace::Request& other) {
        return one.replied - one.arrival() > other.replied - other.arrival();
    });
    return found;
}

}  // namespace blkscope
