// Device: a block device with a depth, and the accounting of the requests that walk through it.
//
//     strategy(buf) ─▶ wait queue ── start() ──▶ run queue ─▶ backing ─▶ done(buf) ─▶ iodone
//                       waitq_enter   waitq_to_runq            runq_exit
//
// The wait queue exists because a device has a depth, as a real disk does: at most queue_depth
// bufs are with the backing at a time. All bufs walk the same path. Reads and writes are what
// kstat_io counts, so that Little's law holds for them exactly; flushes and trims have counters in
// the `cmds` kstat.
//
// Flushes are gathered: while one is with the backing, those that arrive wait for one more, which
// serves all of them. A flush that failed stays failed: after a failed fsync(2) the kernel may have
// dropped the data, so no later flush may claim that it is safe.
//
// Published (instance N): nbd:N:nbdN (IO, class disk) and nbd:N:nbdN,cmds (NAMED, class misc).
//
// Units:     bytes; ticks of gethrtime_unscaled() inside, nanoseconds in what readers get.
// Ownership: owns its backing and its kstats; borrows the ring.
// Threads:   constructed and destroyed where the ring has no worker; in between the worker's only.
//            Readers of its kstats copy through a sequence lock and never stall it.
// Errors:    the constructor throws std::system_error; a request's failure is in Buf::error.
// Source:    strategy(9E), kstat_queue(9F), blkdev's and sd's use of kstat_io.
#pragma once

#include <sys/kstat.h>

#include <array>
#include <cstdint>
#include <kstat/instance.hpp>
#include <kstat/seqlock.hpp>
#include <memory>
#include <string>

#include "blockdev/backing.hpp"
#include "blockdev/buf.hpp"
#include "blockdev/ring.hpp"

namespace blkscope {

class Device {
  public:
    /// `instance` makes the device's name: nbd and the number.
    Device(Ring& ring, std::unique_ptr<Backing> backing, kstat::InstanceClaim instance,
           uint32_t queue_depth);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] int instance() const { return instance_.number(); }
    [[nodiscard]] const Backing& backing() const { return *backing_; }
    [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] uint32_t queue_depth() const { return queue_depth_; }

    /// Accepts a request. iodone is called later, from Ring::dispatch(), or at once for a request
    /// that lies outside the device or is not aligned to it (EINVAL), which touches no queue.
    void strategy(Buf& buf);

    /// What an operation of a running buf came to; from Buf::complete().
    void complete(Buf& buf, int32_t result);

    /// The live counters, in ticks, for the worker's own use.
    [[nodiscard]] const kstat_io_t& io() const { return io_; }

    /// A client came or went; for the `cmds` kstat.
    void connection_opened();
    void connection_closed();

  private:
    struct Counters {
        uint64_t requests = 0;
        uint64_t bytes = 0;
        uint64_t errors = 0;
    };

    [[nodiscard]] bool valid(const Buf& buf) const;
    void start();
    void run(Buf& buf);
    void run_flush(Buf& buf);
    void done(Buf& buf);
    void flush_done(Buf& leader);
    void account(Buf& buf);

    void publish_kstats(int instance);
    static int snapshot_io(kstat_t* ksp, void* out, int rw);
    static int update_cmds(kstat_t* ksp, int rw);

    // What a request touches, together.
    Ring& ring_;
    std::unique_ptr<Backing> backing_;
    uint64_t size_bytes_;
    uint32_t block_bytes_;
    uint32_t queue_depth_;
    uint32_t active_ = 0;
    int sync_error_ = 0;     // sticky
    bool flushing_ = false;  // one flush is with the backing
    BufQueue waitq_;
    BufQueue next_flush_;  // flushes that the next one serves
    BufQueue this_flush_;  // flushes that the running one serves, besides its leader
    kstat_io_t io_{};      // in ticks
    kstat::Seqlock seq_;
    std::array<Counters, Buf::op_count> counters_{};
    uint64_t syncs_ = 0;  // flushes that reached the backing
    uint64_t connections_ = 0;
    uint64_t connections_total_ = 0;

    kstat::InstanceClaim instance_;
    std::string name_;
    kstat_t* io_kstat_ = nullptr;
    kstat_t* cmds_kstat_ = nullptr;
};

}  // namespace blkscope
