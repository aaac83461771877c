#include "blockdev/device/lane_alarms.hpp"

#include <algorithm>

#include "blockdev/device/detours.hpp"
#include "blockdev/device/lane.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {
namespace {

// For a heap whose first member is the earliest. Of two at one moment, the first started one.
bool later(const LaneAlarms::Entry& a, const LaneAlarms::Entry& b) {
    return a.until != b.until ? a.until > b.until : a.number > b.number;
}

}  // namespace

void LaneAlarms::Resume::due() {
    Detours::resume(lane_);
}

void LaneAlarms::hold(Ring& ring, Plan& plan, hrtime_t until, bool precise) {
    assert(plan.buf != nullptr);
    held_.push_back({until, plan.number, &plan});
    std::push_heap(held_.begin(), held_.end(), later);
    precise_ = precise;
    if (held_.front().until < ends_.when()) set_again(ring);
}

std::optional<LaneAlarms::Entry> LaneAlarms::pop_due(hrtime_t now) {
    if (held_.empty() || held_.front().until > now) return std::nullopt;
    std::pop_heap(held_.begin(), held_.end(), later);
    const Entry entry = held_.back();
    held_.pop_back();
    return entry;
}

void LaneAlarms::set_again(Ring& ring) {
    ring.set_alarm(ends_, held_.empty() ? Alarm::never : held_.front().until, precise_);
}

void LaneAlarms::wait_for_tokens(Ring& ring, std::optional<hrtime_t> when) {
    ring.set_alarm(tokens_, when.value_or(Alarm::never), false);
}

}  // namespace blkscope
