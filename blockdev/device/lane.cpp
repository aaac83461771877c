#include "blockdev/device/lane.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "blockdev/device/device.hpp"

namespace blkscope {

Lane::Lane(Device& device, Ring& ring, std::unique_ptr<Backing> backing)
    : device_(device),
      ring_(ring),
      backing_(std::move(backing)),
      empty_wakeups_before_(ring.empty_wakeups()) {
    backing_->attach(ring_);
    ring_.add_observer(*this);
    device_.add_lane(*this);
}

Lane::~Lane() {
    assert(waitq_.empty() && active_ == 0);
    device_.remove_lane(*this);
    ring_.remove_observer(*this);
}

void Lane::submitting(hrtime_t now) {
    if (!submitted_) return;  // another device's turn
    submitted_ = false;
    device_.submitting(*this, now);
}

// ---- A device's lanes ----

std::unique_ptr<Lane> Device::open_lane(Ring& ring) {
    std::unique_ptr<Backing> backing = first_lane_.backing_->another();
    return backing ? std::make_unique<Lane>(*this, ring, std::move(backing)) : nullptr;
}

void Device::add_lane(Lane& lane) {
    lane.ring_.hold(lock_);
    {
        const std::lock_guard guard(lanes_mutex_);
        lanes_.push_back(&lane);
    }
    lane.ring_.let_go();
}

void Device::remove_lane(Lane& lane) {
    lane.ring_.hold(lock_);
    {
        const std::lock_guard guard(lanes_mutex_);
        std::erase(lanes_, &lane);
        empty_wakeups_before_ += lane.ring_.empty_wakeups() - lane.empty_wakeups_before_;
    }
    lane.ring_.let_go();  // the lock may go with the device
}

// Those of all rings while they had a lane here; for a reader, who does not wait for the workers.
uint32_t Device::empty_wakeups() const {
    const std::lock_guard guard(lanes_mutex_);
    uint32_t count = empty_wakeups_before_;
    for (const Lane* lane : lanes_) {
        count += lane->ring_.empty_wakeups() - lane->empty_wakeups_before_;
    }
    return count;
}

}  // namespace blkscope
