// Lane: one worker's access to a device.
//
//     worker A ─▶ lane ─┐                        ┌─▶ ring of A ─▶ backing
//                       ├─▶ Device: one lock ────┤
//     worker B ─▶ lane ─┘                        └─▶ ring of B ─▶ the same bytes
//
// A request stays with the worker that received it: its operations and its iodone are on that
// worker's ring. If another worker frees a place in the device, the request's own worker gets a
// message to start it. All lanes share one order of starting: see blockdev/queue/device_queue.hpp.
//
// Units:     ticks of the kernel's clock.
// Ownership: the device owns its first lane. The callers of open_lane() own the others, which
//            borrow the device and are destroyed before it.
// Threads:   constructed, used and destroyed by the ring's worker, or while the ring has none. The
//            device's lock protects the members that the device keeps here.
// Errors:    the constructor throws what Backing::attach() throws.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "blockdev/accounting/client_connection.hpp"
#include "blockdev/backing/backing.hpp"
#include "blockdev/device/lane_alarms.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {

class Device;

class Lane final : private SubmissionObserver, private Alarm {
  public:
    Lane(Device& device, Ring& ring, std::unique_ptr<Backing> backing);
    ~Lane() override;
    Lane& operator=(Lane&&) = delete;

    [[nodiscard]] Device& device() const { return device_; }
    /// The kernel whose clock made the stamps of the lane's requests.
    [[nodiscard]] const Kernel& kernel() const { return ring_.kernel(); }
    /// Locks the device until the worker unlocks it. The requests of the lane then stay as they are.
    void lock();

    // ---- Events of clients that are no requests, which the device counts ----

    /// A client's connection was opened or closed, or was closed because it made no progress.
    void connection_opened();
    void connection_closed();
    void connection_given_up();
    /// The same connection as one of a client. `figures` stay until close_client().
    [[nodiscard]] Client& open_client(const ClientIdentity& who, const ConnectionFigures& figures);
    /// The connection has no request any more.
    void close_client(Client& client, const ConnectionFigures& figures);
    /// The live counters of all clients of the device, also of those that have closed.
    [[nodiscard]] std::vector<const kstat_io_t*> client_counters() const;
    /// The reply of an ended request was sent at `buf.replied`.
    void replied(const Buf& buf);
    /// A client's request was refused without strategy(), because the device does not support it.
    void request_refused();

  private:
    friend class Controls;
    friend class Detours;
    friend class Device;

    /// The backing got a buf at `now`. The first call of a turn begins the submit timer.
    void announce_submission(hrtime_t now) {
        if (submitted_) return;
        submitted_ = true;
        first_submitted_ = now;
        ring_.announce_submission();
    }
    void submitting(hrtime_t now) override;
    /// The device looks at its table, now or when the backing has rested.
    void look_at_table();
    void due() override;
    [[nodiscard]] hrtime_t now_ns();

    Device& device_;
    Ring& ring_;
    std::unique_ptr<Backing> backing_;

    // Only the worker uses these.
    hrtime_t first_submitted_ = 0;  // when this turn's first buf went to the backing
    bool submitted_ = false;        // this turn has such a buf
    LaneAlarms alarms_{*this};

    // The device's lock protects these.
    uint64_t last_turn_ = 0;  // the last turn of the ring with a completion of this lane
    uint32_t active_ = 0;     // bufs of this lane that are with the backing
};

}  // namespace blkscope
