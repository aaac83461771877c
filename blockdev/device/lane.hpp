// Lane: one worker's way into a device.
//
//     worker A ─▶ lane ─┐                        ┌─▶ ring of A ─▶ backing
//                       ├─▶ Device: one lock ────┤
//     worker B ─▶ lane ─┘                        └─▶ ring of B ─▶ the same bytes
//
// A request stays with the worker that brought it: it is prepared on that worker's ring and given
// back there. Only when the device has room again for a request of another worker does it change
// hands, as a message to that worker's ring. The order of starting is one for all lanes: see
// blockdev/queue/device_queue.hpp.
//
// Ownership: the device owns its first lane, and lends itself to the others, which go before it.
// Threads:   made, used and destroyed on the ring's worker, or while that has none; what the device
//            keeps here of the lane's requests is under the device's lock.
// Errors:    the constructor throws what Backing::attach() throws.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <memory>

#include "blockdev/backing/backing.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {

class Device;

class Lane final : private SubmissionObserver {
  public:
    Lane(Device& device, Ring& ring, std::unique_ptr<Backing> backing);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    [[nodiscard]] Device& device() const { return device_; }

    // ---- What the device counts of clients that are no requests ----

    /// A client came or went, or was closed because it stood still.
    void connection_opened();
    void connection_closed();
    void connection_given_up();
    /// A client asked for what the device does not do, and was told so without strategy().
    void request_refused();

  private:
    friend class Device;

    /// Something was handed to the backing at `now`; the first of a turn begins the submit timer.
    void announce_submission(hrtime_t now) {
        if (submitted_) return;
        submitted_ = true;
        first_submitted_ = now;
        ring_.announce_submission();
    }
    void submitting(hrtime_t now) override;

    Device& device_;
    Ring& ring_;
    std::unique_ptr<Backing> backing_;

    // The worker's alone.
    hrtime_t first_submitted_ = 0;  // of this turn
    bool submitted_ = false;        // something, in this turn

    // Under the device's lock.
    uint64_t last_turn_ = 0;  // of the ring, with a completion of ours
    uint32_t active_ = 0;     // of its bufs, with the backing
};

}  // namespace blkscope
