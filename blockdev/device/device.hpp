// Device: a block device with a depth, and the accounting of the requests that walk through it.
//
//     strategy(buf) ─▶ wait queue ── start() ──▶ run queue ─▶ backing ─▶ done(buf) ─▶ iodone
//                       waitq_enter   waitq_to_runq            runq_exit
//
// The wait queue exists because a device has a depth, as a real disk does: at most queue_depth
// bufs are with the backing at a time. All bufs walk the same path. Reads and writes are what
// kstat_io counts, so that Little's law holds for them exactly; the others have counters in the
// `cmds` kstat.
//
// Flushes are gathered: while one is with the backing, those that arrive wait for one more, which
// serves all of them. A flush that failed stays failed: after a failed fsync(2) the kernel may have
// dropped the data, so no later flush may claim that it is safe.
//
// Several workers may serve a device, each through a lane of its own (blockdev/device/lane.hpp): the
// queues and all that is counted are under one lock, which a worker takes once for a batch of
// requests, so that there is one writer at a time. The bytes move outside of it.
//
// The partition table is read when the device is made; again, if a write may have changed it, when
// a flush has ended or the last client leaves.
//
// Published (instance N):
//     nbd:N:nbdN         IO, class disk
//     nbd:N:nbdN,P       IO, class partition, for each partition: see blockdev/accounting/partitions.hpp
//     nbd:N:nbdN,cmds    NAMED, misc: requests, bytes and errors by operation
//     nbd:N:nbdN,intr    INTR, controller: what woke the worker up for it
//     nbd:N:nbdN,timers  TIMER, misc: flush, trim and write_zeroes from start() to done(), as the
//                        run queue has it for reads and writes; submit, a turn of the worker from
//                        its first hand-over to the backing to the submission of all it prepared
//     nbderr:N:nbdN,err  NAMED, device_error: see blockdev/accounting/error_counts.hpp
//     devstat:N:nbdN,devstat  RAW, devstat: see blockdev/accounting/devstat_counters.hpp; partitions too
//     stats:N:nbdN       RAW, misc: see blockdev/accounting/io_stats.hpp
// and, of the second kind,
//     kstat:/disk/nbd/nbdN/N     the first of these; kstat:/partition/nbd/nbdN,P/N the second
//     kstat:/disk/nbd/nbdN/N/... histograms: see blockdev/accounting/histogram_kstats.hpp
//
// Units:     bytes; ticks of gethrtime_unscaled() inside, nanoseconds in what readers get.
// Ownership: owns its backing and its kstats; borrows the ring.
// Threads:   constructed and destroyed by the ring's worker, or while it has none; a lane's
// requests
//            on the worker of that lane, and calls that take a lane. Readers of its kstats copy
//            through a sequence lock and never stall a worker.
// Errors:    the constructor throws std::system_error; a request's failure is in Buf::error.
// Source:    strategy(9E), kstat_queue(9F), blkdev's and sd's use of kstat_io.
#pragma once

#include <sys/kstat.h>

#include <array>
#include <cstdint>
#include <kstat/clock.hpp>
#include <kstat/instance.hpp>
#include <kstat/seqlock.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "blockdev/backing/backing.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/accounting/error_counts.hpp"
#include "blockdev/accounting/histogram_kstats.hpp"
#include "blockdev/accounting/io_kstat.hpp"
#include "blockdev/accounting/io_stats.hpp"
#include "blockdev/device/lane.hpp"
#include "blockdev/ring/lock.hpp"
#include "blockdev/accounting/partitions.hpp"
#include "blockdev/accounting/request_histograms.hpp"
#include "blockdev/ring/ring.hpp"
#include "blockdev/accounting/timer.hpp"

namespace blkscope {

class Device final {
  public:
    /// `instance` makes the device's name: nbd and the number. One read or write in `stats_rate` is
    /// taken into its IoStats; 0: none is, and there are none.
    Device(Ring& ring, std::unique_ptr<Backing> backing, kstat::InstanceClaim instance,
           uint32_t queue_depth, uint32_t stats_rate = 0);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] int instance() const { return instance_.number(); }
    [[nodiscard]] const Backing& backing() const { return *first_lane_.backing_; }
    [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] uint32_t queue_depth() const { return queue_depth_; }

    /// That of the ring that it was made for.
    [[nodiscard]] Lane& first_lane() { return first_lane_; }

    /// Another worker's, which comes from that worker; nullptr where the backing is not
    /// shareable(). It goes when all its requests are done, and before the device. Throws as
    /// Backing::another().
    std::unique_ptr<Lane> open_lane(Ring& ring);

    /// Accepts a request by the first lane or another. iodone is called later, from
    /// Ring::dispatch(), or at once for a request that lies outside the device or is not aligned to
    /// it (EINVAL), which touches no queue.
    void strategy(Buf& buf) { strategy(buf, first_lane_); }
    void strategy(Buf& buf, Lane& lane);

    /// What an operation of a running buf came to; from Buf::complete().
    void complete(Buf& buf, int32_t result);

    /// The live counters, in ticks, for the worker's own use.
    [[nodiscard]] const kstat_io_t& io() const { return disk_.io; }

    /// The histograms of its requests; what is in them is read as kstats.
    [[nodiscard]] RequestHistograms& histograms() { return histograms_; }

    /// A client came or went, or was given up because it stood still.
    void connection_opened(Lane& lane);
    void connection_closed(Lane& lane);
    void connection_given_up(Lane& lane);

    /// A client asked for what this device does not do; it was told so, and strategy() not asked.
    void request_refused(Lane& lane);

  private:
    friend class Lane;

    struct Counters {
        uint64_t requests = 0;
        uint64_t bytes = 0;
        uint64_t errors = 0;
    };

    void add_lane(Lane& lane);
    void remove_lane(Lane& lane);
    [[nodiscard]] uint32_t empty_wakeups() const;

    [[nodiscard]] bool valid(const Buf& buf) const;
    [[nodiscard]] Lane* next_lane(Lane& here);
    void start(Lane& here);
    void call(Buf& buf, Lane& here, hrtime_t now);
    void run(Buf& buf, hrtime_t now);
    void submit(Buf& buf, hrtime_t now);
    void list_extents(Buf& buf);
    bool reads_only_holes(Buf& buf);
    void submitting(Lane& lane, hrtime_t now);
    void run_flush(Buf& buf, Lane& here, hrtime_t now);
    void ended(Buf& buf);
    void done(Buf& buf);
    void flush_done(Buf& leader);
    void give_back(Buf& buf, Lane& here);
    void account(Buf& buf);
    void sample(const Buf& buf);
    void count_outcome(const Buf& buf);
    void count_completion(Lane& lane);
    hrtime_t read_clock();

    template <class Transition>
    hrtime_t transit(const Buf& buf, Transition transition);
    template <class Transition>
    void on_kstats(const Buf& buf, Transition transition);
    template <class Count>
    void on_devstats(const Buf& buf, Count count);
    [[nodiscard]] bool touches_table(const Buf& buf) const;
    void table_may_have_changed();
    void read_table();

    OwnedKstat create_kstat(const char* what, const char* ks_class, uchar_t type, uint_t records,
                            int (*update)(kstat_t*, int));
    void publish_kstats();
    void publish_errors();
    static int update_cmds(kstat_t* ksp, int rw);
    static int update_intr(kstat_t* ksp, int rw);
    static int update_timers(kstat_t* ksp, int rw);
    static int update_errors(kstat_t* ksp, int rw);

    enum TimerIndex : size_t {
        flush_timer,
        trim_timer,
        write_zeroes_timer,
        submit_timer,
        timer_count
    };
    void time_discard_or_flush(const Buf& buf);

    kstat::InstanceClaim instance_;
    std::string name_;

    uint64_t size_bytes_;
    uint32_t block_bytes_;
    uint32_t queue_depth_;

    // From here on under the lock, but for what readers observe.
    Lock lock_;
    uint32_t active_ = 0;
    int sync_error_ = 0;     // sticky
    bool flushing_ = false;  // one flush is with the backing
    hrtime_t latest_ = 0;    // that the clock was read as
    std::vector<Lane*> lanes_;
    BufQueue next_flush_;  // flushes that the next one serves
    BufQueue this_flush_;  // flushes that the running one serves, besides its leader
    kstat::Seqlock seq_;
    IoKstat disk_;
    Partitions partitions_;
    RequestHistograms histograms_;
    const kstat::TickScale scale_;
    IoStats stats_;
    bool table_touched_ = false;
    kstat_intr_t intr_{};  // but for the spurious ones, which the rings count
    std::array<Timer, timer_count> timers_{};
    std::array<Counters, Buf::op_count> counters_{};
    uint64_t syncs_ = 0;  // flushes that reached the backing
    uint64_t connections_ = 0;
    uint64_t connections_total_ = 0;

    ErrorCounts errors_;
    std::string table_problem_;  // what was last said about it

    mutable std::mutex
        lanes_mutex_;  // taken for lanes_, too, to change it or to read without lock_
    uint32_t empty_wakeups_before_ = 0;  // of lanes that have gone

    Lane first_lane_;

    // Last, so that no reader comes any more when the rest goes.
    OwnedKstat cmds_kstat_;
    OwnedKstat intr_kstat_;
    OwnedKstat timers_kstat_;
    OwnedKstat errors_kstat_;
    HistogramKstats histogram_kstats_;
};

}  // namespace blkscope
