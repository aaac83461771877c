#include "driver/nbd/client/upstream_order.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {
namespace {

bool any_overlaps(const std::vector<UpstreamRange>& ranges, const UpstreamRange& range) {
    return std::ranges::any_of(ranges,
                               [&](const UpstreamRange& one) { return one.overlaps(range); });
}

}  // namespace

void UpstreamOrder::enter(UpstreamWrite& write) {
    assert(std::ranges::find(writes_, &write) == writes_.end());
    write.resent = false;
    writes_.push_back(&write);
}

bool UpstreamOrder::may_go(const UpstreamWrite& write, int64_t now) const {
    for (const UpstreamWrite* const earlier : writes_) {
        if (earlier == &write) {
            return now >= settled_at_ ||
                   !(any_overlaps(failed_, write) || any_overlaps(answered_, write));
        }
        if (earlier->overlaps(write) && !planted("overlap-goes")) return false;
    }
    assert(false);  // the write is not in the order
    return false;
}

bool UpstreamOrder::may_read(const UpstreamRange& range, int64_t now) const {
    if (now >= settled_at_) return true;
    const bool resent = std::ranges::any_of(writes_, [&](const UpstreamWrite* write) {
        return write->resent && write->overlaps(range);
    });
    return !resent && !any_overlaps(failed_, range);
}

void UpstreamOrder::leave(UpstreamWrite& write) {
    remove(write);
    if (write.resent && !planted("old-write-lands")) keep(answered_, write);
}

void UpstreamOrder::give_up(UpstreamWrite& write) {
    remove(write);
    if (!planted("failed-write-lands")) keep(failed_, write);
}

void UpstreamOrder::remove(const UpstreamWrite& write) {
    [[maybe_unused]] const auto removed = std::erase(writes_, &write);
    assert(removed == 1);
}

void UpstreamOrder::keep(std::vector<UpstreamRange>& ranges, const UpstreamRange& range) {
    if (ranges.size() >= old_max) {
        ranges.assign(1, {0, std::numeric_limits<int64_t>::max()});
        return;
    }
    ranges.push_back(range);
}

// Writes from before a settled connection are old enough.
void UpstreamOrder::lost(int64_t now) {
    if (now >= settled_at_) {
        failed_.clear();
        answered_.clear();
    }
    settled_at_ = std::numeric_limits<int64_t>::max();
}

}  // namespace blkscope::nbd
