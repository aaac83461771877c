// Device: a block device with a depth. The class joins a queue, a clock, a lock, backings and
// accounting.
//
//     strategy(buf) ─▶ DeviceQueue ── start() ──▶ Backing ──▶ done ─▶ iodone
//                  │                  │                       │
//                  └─ entered         └─ started              └─ ended ─▶ Accounting
//
// A device has a wait queue because it has a depth, as a real disk does. At most queue_depth bufs
// are with the backing at a time, and the DeviceQueue decides which one starts next. All bufs take
// the same path. kstat_io counts reads and writes only, so that Little's law is exact for them. The
// other operations have counters in the `cmds` kstat.
//
// A backing that moves the bytes itself has finished when prepare() returns. The request then ends
// at once and frees its place. Its iodone still comes from Ring::dispatch(), as for all requests.
//
// A failed sync stays failed: the kernel may have dropped the data, so no later flush may report
// success. Each flush still syncs as much as it can, and answers with the first error. A write that
// fails by itself was never acknowledged, so it has no effect on later requests.
//
// A backing on another machine may lose writes that it has acknowledged. Each caller that was there
// gets EIO once, for its next flush or FUA request. Later callers do not: see Buf::losses_seen.
//
// Several workers may serve a device, each through a lane of its own (blockdev/device/lane.hpp).
// One lock protects the queue and all counters. A worker locks it once for a batch of requests. The
// bytes move while it is unlocked.
//
// A device with a model holds an answered request until its planned end. A device with limits
// leaves a request in the wait queue until its tokens are there. See blockdev/device/pacing.hpp.
//
// The partition table is read at construction. A write may change it. Then it is read again when a
// flush has ended, or when the last client has closed its connection.
//
// Published (instance N): see blockdev/accounting/accounting.hpp and the headers that it names.
//
// Units:     bytes; ticks of the kernel's clock inside, nanoseconds in the kstats.
// Ownership: owns its backing and its kstats; borrows the ring, which outlives the device.
// Threads:   constructed and destroyed by the ring's worker, or while the ring has no worker. Calls
//            with a lane, and all requests of that lane, belong to the worker of that lane. Readers
//            of its kstats copy through a sequence lock and never block a worker.
// Errors:    the constructor throws std::system_error; a request's failure is in Buf::error.
// Source:    strategy(9E), kstat_queue(9F), blkdev's and sd's use of kstat_io.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blockdev/accounting/subject.hpp"
#include "blockdev/backing/backing.hpp"
#include "blockdev/device/behaviour.hpp"
#include "blockdev/device/controls.hpp"
#include "blockdev/device/lane.hpp"
#include "blockdev/device/table_watch.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/queue/device_queue.hpp"
#include "blockdev/ring/lock.hpp"
#include "blockdev/ring/ring.hpp"
#include "kstat/provider/instance.hpp"

namespace blkscope {

class Accounting;
class Pacing;
class RequestHistograms;

class Device final : public Controls {
  public:
    /// `instance` makes the device's name: nbd and the number. Without one nothing is published.
    Device(Ring& ring, std::unique_ptr<Backing> backing,
           std::optional<kstat::InstanceClaim> instance, DeviceOptions options);
    ~Device();
    Device& operator=(Device&&) = delete;

    [[nodiscard]] const std::string& name() const { return subject_.name; }
    /// The device's number; negative if it publishes nothing.
    [[nodiscard]] int instance() const { return subject_.instance; }
    [[nodiscard]] const Backing& backing() const { return *first_lane_->backing_; }
    /// May grow with the backing. Any thread.
    [[nodiscard]] uint64_t size_bytes() const { return backing().size_bytes(); }
    /// Any thread.
    [[nodiscard]] uint32_t queue_depth() const { return queue_.depth(); }

    /// The lane of the ring that created this device.
    [[nodiscard]] Lane& first_lane() { return *first_lane_; }

    /// A lane for another worker, which makes this call; nullptr if the backing is not shareable().
    /// The caller owns the lane, and destroys it before the device, when all its requests are done.
    /// Throws as Backing::another().
    std::unique_ptr<Lane> open_lane(Ring& ring);

    /// Accepts a request, from the first lane or from `lane`. Ring::dispatch() calls iodone later.
    /// A request outside the device, or not aligned to its blocks, fails with EINVAL. Then iodone
    /// is called at once, and no queue counts the request.
    void strategy(Buf& buf) { strategy(buf, first_lane()); }
    void strategy(Buf& buf, Lane& lane);

    /// The device has nothing of any request. Worker only.
    [[nodiscard]] bool idle() const;

    /// Applies the result of one operation of a buf. Called by Buf::complete().
    void complete(Buf& buf, int32_t result);

    /// The live counters, in ticks. Worker only.
    [[nodiscard]] const kstat_io_t& io() const;
    /// The live counters of each partition, by first byte. Worker only.
    [[nodiscard]] std::vector<const kstat_io_t*> partitions() const;
    /// The histograms of the device's requests, for tests. Programs read them as kstats.
    [[nodiscard]] RequestHistograms& histograms();

  private:
    friend class Controls;
    friend class Detours;
    friend class Lane;

    /// Where a request ends: inside its ring's dispatch(), or inside a call into the device.
    enum class From : uint8_t { dispatch, call };

    void start(Lane& here);
    void hand_out(Buf& buf, Lane& here, hrtime_t now);
    void run(Buf& buf, From from);
    std::optional<int32_t> begin(Buf& buf);
    bool take_in(Buf& buf, int32_t result, From from);
    void done(Buf& buf, From from);
    void finish(Buf& buf, From from);
    void flush_done(Buf& leader, From from);
    void end(Buf& buf, Lane& here, From from);
    void note_sync(Buf& buf);
    void look_at_table();
    hrtime_t read_clock(const Lane& lane);

    std::optional<kstat::InstanceClaim> instance_;
    const Subject subject_;

    // The lock protects all members below. Readers of kstats observe counters without it.
    Lock lock_;
    DeviceQueue queue_;
    TableWatch table_;
    int sync_error_ = 0;            // sticky; 0 for none
    bool synced_ = false;           // a sync has succeeded since
    uint64_t losses_seen_ = 0;      // of Backing::losses(), the last that any caller was told
    bool powered_ = true;           // without power no model, limit or fault concerns a request
    hrtime_t latest_ = 0;           // the latest clock reading
    const uint64_t trusted_pause_;  // ticks of trusted_pause_ns
    uint32_t lanes_ = 0;
    std::unique_ptr<Accounting> accounting_;
    std::unique_ptr<Pacing> pacing_;
    std::unique_ptr<Lane> first_lane_;
};

}  // namespace blkscope
