// Device: a block device with a depth. It joins a queue, a clock, a lock, backings and accounting.
//
//     strategy(buf) ─▶ DeviceQueue ── start() ──▶ Backing ──▶ done ─▶ iodone
//                  │                  │                       │
//                  └─ entered         └─ started              └─ ended ─▶ Accounting
//
// The wait queue exists because a device has a depth, as a real disk does: at most queue_depth bufs
// are with the backing at a time. The DeviceQueue says whose turn it is. All bufs walk the same path.
// Reads and writes are what kstat_io counts, so that Little's law holds for them exactly; the others
// have counters in the `cmds` kstat.
//
// A backing that moves the bytes itself is done when they have moved: the request leaves the run
// queue and its place at that moment. Its iodone comes from Ring::dispatch(), as for the others.
//
// A sync that has failed stays failed: the kernel may have dropped the data, so no later flush may
// claim that it is safe. Each flush still syncs what can be synced, and answers with that error. A
// write that fails for itself was never promised to anybody, and poisons nothing.
//
// Several workers may serve a device, each through a lane of its own (blockdev/device/lane.hpp). The
// queue and all that is counted are under one lock, which a worker takes once for a batch of
// requests. The bytes move outside of it.
//
// The partition table is read when the device is made, and again when a write may have changed it
// and a flush has ended or the last client has left.
//
// Published (instance N): see blockdev/accounting/accounting.hpp and the headers that it names.
//
// Units:     bytes; ticks of the kernel's clock inside, nanoseconds in what readers get.
// Ownership: owns its backing and its kstats; borrows the ring.
// Threads:   constructed and destroyed by the ring's worker, or while it has none; a lane's requests
//            on the worker of that lane, and calls that take a lane. Readers of its kstats copy
//            through a sequence lock and never stall a worker.
// Errors:    the constructor throws std::system_error; a request's failure is in Buf::error.
// Source:    strategy(9E), kstat_queue(9F), blkdev's and sd's use of kstat_io.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <kstat/instance.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blockdev/accounting/subject.hpp"
#include "blockdev/backing/backing.hpp"
#include "blockdev/device/lane.hpp"
#include "blockdev/device/table_watch.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/queue/device_queue.hpp"
#include "blockdev/ring/lock.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {

class Accounting;
class RequestHistograms;

class Device final {
  public:
    /// `instance` makes the device's name: nbd and the number. Without one nothing is published. One
    /// read or write in `stats_rate` is taken into its IoStats; 0: none is, and there are none.
    Device(Ring& ring, std::unique_ptr<Backing> backing,
           std::optional<kstat::InstanceClaim> instance, uint32_t queue_depth,
           uint32_t stats_rate = 0);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] const std::string& name() const { return subject_.name; }
    /// Its number; negative for one that publishes nothing.
    [[nodiscard]] int instance() const { return subject_.instance; }
    [[nodiscard]] const Backing& backing() const { return *first_lane_->backing_; }
    [[nodiscard]] uint64_t size_bytes() const { return subject_.size_bytes; }
    [[nodiscard]] uint32_t queue_depth() const { return queue_.depth(); }

    /// The lane of the ring that the device was made for.
    [[nodiscard]] Lane& first_lane() { return *first_lane_; }

    /// A lane for another worker, which calls this; nullptr where the backing is not shareable(). It
    /// goes when all its requests are done, and before the device. Throws as Backing::another().
    std::unique_ptr<Lane> open_lane(Ring& ring);

    /// Accepts a request by the first lane or another. iodone is called later, from
    /// Ring::dispatch(), or at once for a request that lies outside the device or is not aligned to
    /// it (EINVAL), which touches no queue.
    void strategy(Buf& buf) { strategy(buf, first_lane()); }
    void strategy(Buf& buf, Lane& lane);

    /// Takes in what an operation of a buf came to; from Buf::complete().
    void complete(Buf& buf, int32_t result);

    /// The live counters, in ticks, for the worker's own use.
    [[nodiscard]] const kstat_io_t& io() const;
    /// The same of each partition, by first byte.
    [[nodiscard]] std::vector<const kstat_io_t*> partitions() const;
    /// The histograms of its requests; what is in them is read as kstats.
    [[nodiscard]] RequestHistograms& histograms();

  private:
    friend class Lane;

    /// Where a request ends: inside its ring's dispatch(), or inside a call of the device's user.
    enum class From : uint8_t { dispatch, call };

    void start(Lane& here);
    void hand_out(Buf& buf, Lane& here);
    void run(Buf& buf, From from);
    std::optional<int32_t> begin(Buf& buf);
    bool take_in(Buf& buf, int32_t result, From from);
    void done(Buf& buf, From from);
    void flush_done(Buf& leader, From from);
    void end(Buf& buf, Lane& here, From from);
    void note_sync(Buf& buf);
    void look_at_table();
    hrtime_t read_clock(const Lane& lane);

    std::optional<kstat::InstanceClaim> instance_;
    const Subject subject_;

    // From here on under the lock, but for what readers observe.
    Lock lock_;
    DeviceQueue queue_;
    TableWatch table_;
    int sync_error_ = 0;   // sticky
    hrtime_t latest_ = 0;  // that the clock was read as
    uint32_t lanes_ = 0;
    std::unique_ptr<Accounting> accounting_;
    std::unique_ptr<Lane> first_lane_;
};

}  // namespace blkscope
