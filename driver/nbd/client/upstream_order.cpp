#include "driver/nbd/client/upstream_order.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace blkscope::nbd {

void UpstreamOrder::enter(UpstreamWrite& write) {
    assert(std::ranges::find(writes_, &write) == writes_.end());
    write.resent = false;
    writes_.push_back(&write);
}

bool UpstreamOrder::may_go(const UpstreamWrite& write, int64_t now) const {
    for (const UpstreamWrite* const earlier : writes_) {
        if (earlier == &write) return is_clear(write, now);
        if (earlier->overlaps(write)) return false;
    }
    assert(false);  // the write is not in the order
    return false;
}

bool UpstreamOrder::may_read(const UpstreamRange& range, int64_t now) const {
    if (now >= settled_at_) return true;
    const bool resent = std::ranges::any_of(writes_, [&](const UpstreamWrite* write) {
        return write->resent && write->overlaps(range);
    });
    return !resent && is_clear(range, now);
}

bool UpstreamOrder::is_clear(const UpstreamRange& range, int64_t now) const {
    if (now >= settled_at_) return true;
    return std::ranges::none_of(
        failed_, [&](const UpstreamRange& failed) { return failed.overlaps(range); });
}

void UpstreamOrder::leave(UpstreamWrite& write) {
    [[maybe_unused]] const auto removed = std::erase(writes_, &write);
    assert(removed == 1);
}

void UpstreamOrder::give_up(UpstreamWrite& write) {
    leave(write);
    if (failed_.size() >= failed_max) {
        failed_.assign(1, {0, std::numeric_limits<int64_t>::max()});
        return;
    }
    failed_.push_back(write);
}

// Failed writes from before a settled connection are old enough.
void UpstreamOrder::lost(int64_t now) {
    if (now >= settled_at_) failed_.clear();
    settled_at_ = std::numeric_limits<int64_t>::max();
}

void UpstreamOrder::connected(int64_t now) {
    settled_at_ = now + settle_;
}

}  // namespace blkscope::nbd
