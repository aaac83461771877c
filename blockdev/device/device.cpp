#include "blockdev/device/device.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <kstat/clock.hpp>
#include <kstat/queues.hpp>
#include <utility>

namespace blkscope {
namespace {

// Off in a build that measures what the accounting costs, and in no other: BLKSCOPE_ACCOUNTING.
constexpr bool accounting = BLKSCOPE_ACCOUNTING != 0;

constexpr uint8_t retries_max = 16;  // of EINTR and EAGAIN, per request

// Adds to a counter that only the worker writes and readers observe.
void add(uint64_t& counter, uint64_t n) {
    kstat::publish(counter, counter + n);
}

// The end of a read's or write's stay, with the bytes that it moved.
void leave_runq(kstat_io_t& io, const Buf& buf) {
    const bool reading = buf.op == Buf::Op::read;
    u_longlong_t& bytes = reading ? io.nread : io.nwritten;
    uint_t& operations = reading ? io.reads : io.writes;
    kstat::runq_exit(io, buf.finished);
    kstat::publish(bytes, bytes + buf.moved());
    kstat::publish(operations, operations + 1);
}

}  // namespace

Device::Device(Ring& ring, std::unique_ptr<Backing> backing, kstat::InstanceClaim instance,
               uint32_t queue_depth, uint32_t stats_rate)
    : instance_(std::move(instance)),
      name_(device_module + std::to_string(instance_.number())),
      size_bytes_(backing->size_bytes()),
      block_bytes_(backing->block_bytes()),
      queue_depth_(queue_depth),
      disk_(seq_, instance_.number(), name_, disk_class, block_bytes_),
      partitions_(seq_, instance_.number(), block_bytes_),
      histograms_(seq_),
      stats_(instance_.number(), name_, stats_rate),
      first_lane_(*this, ring, std::move(backing)),
      histogram_kstats_(histograms_, name_, instance_.number()) {
    assert(queue_depth_ > 0);
    publish_kstats();
    read_table();
}

Device::~Device() {
    assert(lanes_.size() == 1);  // the first
}

bool Device::valid(const Buf& buf) const {
    if (buf.op == Buf::Op::flush) return true;
    if (buf.offset > size_bytes_ || buf.bcount > size_bytes_ - buf.offset) return false;
    return buf.offset % block_bytes_ == 0 && buf.bcount % block_bytes_ == 0;
}

// A transition of a read or write: of the disk's queues and, at the same moment, of those of the
// partition that it lies in.
template <class Transition>
void Device::on_kstats(const Buf& buf, Transition transition) {
    if (!buf.in_queues()) return;
    transition(disk_.io);
    if (buf.partition != nullptr) transition(buf.partition->io);
}

// The coming or going of any request, likewise, as FreeBSD counts it.
template <class Count>
void Device::on_devstats(const Buf& buf, Count count) {
    count(disk_.devstat);
    if (buf.partition != nullptr) count(buf.partition->devstat);
}

// The clock of another processor may be a few ticks behind: what is counted one after the other
// must not seem to run backwards for that.
hrtime_t Device::read_clock() {
    latest_ = std::max(latest_, kstat::now_unscaled());
    return latest_;
}

// Moves a buf from one queue to the next, and says when that was: one reading of the clock, so that
// the queues and the request agree.
template <class Transition>
hrtime_t Device::transit(const Buf& buf, Transition transition) {
    if constexpr (!accounting) return 0;
    const auto writing = seq_.write();  // before the clock is read; see io_kstat.cpp
    const hrtime_t now = read_clock();
    on_kstats(buf, [&](kstat_io_t& io) { transition(io, now); });
    if (buf.state == Buf::State::waiting)
        on_devstats(buf, [&](auto& counts) { counts.begin(now); });
    return now;
}

void Device::strategy(Buf& buf, Lane& lane) {
    assert(buf.state == Buf::State::idle);
    buf.error = 0;
    buf.resid = buf.bcount;
    buf.extents.clear();
    lane.ring_.hold(lock_);
    if (!valid(buf)) {
        buf.error = EINVAL;
        errors_.refused();
        return buf.iodone(buf);
    }
    buf.lane = &lane;
    buf.partition = partitions_.find(buf.offset, buf.bcount);
    buf.step = 0;
    buf.retries_left = retries_max;
    buf.state = Buf::State::waiting;
    buf.met = disk_.io.wcnt + disk_.io.rcnt;
    buf.queued = transit(buf, kstat::waitq_enter);
    lane.waitq_.push(buf);
    start(lane);
}

// The one that has the fewest bufs running, of those that have any waiting; where that is equal the
// one that asks, which costs nobody a message.
Lane* Device::next_lane(Lane& here) {
    Lane* next = here.waitq_.empty() ? nullptr : &here;
    for (Lane* lane : lanes_) {
        if (lane->waitq_.empty()) continue;
        if (next == nullptr || lane->active_ < next->active_) next = lane;
    }
    return next;
}

// Hands bufs to the backing while the device has depth for them. It only prepares: the worker
// submits once per turn, however many requests that turn brought.
void Device::start(Lane& here) {
    for (;;) {
        here.ring_.hold(lock_);  // a backing that moves the bytes itself lets go of it
        if (active_ == queue_depth_) return;
        Lane* const lane = next_lane(here);
        if (lane == nullptr) return;
        Buf& buf = lane->waitq_.pop();
        buf.state = Buf::State::running;
        buf.started = transit(buf, kstat::waitq_to_runq);
        if (buf.op == Buf::Op::flush) {
            run_flush(buf, here, buf.started);
        } else {
            call(buf, here, buf.started);
        }
    }
}

// From here on it runs: on its own worker's ring.
void Device::call(Buf& buf, Lane& here, hrtime_t now) {
    ++active_;
    ++buf.lane->active_;
    if (buf.lane == &here) return run(buf, now);
    buf.state = Buf::State::called;
    buf.lane->ring_.post(buf, 0);
}

void Device::run(Buf& buf, hrtime_t now) {
    if (buf.must_be_stable() && sync_error_ != 0) {
        return buf.lane->ring_.completed(buf, -sync_error_);
    }
    submit(buf, now);
}

void Device::submit(Buf& buf, hrtime_t now) {
    Lane& lane = *buf.lane;
    if (!lane.submitted_) {
        lane.submitted_ = true;
        lane.first_submitted_ = now;
        lane.ring_.announce_submission();
    }
    buf.covers = buf.resid;
    if (buf.op == Buf::Op::block_status) return list_extents(buf);
    if (buf.op == Buf::Op::read && reads_only_holes(buf)) {
        return lane.ring_.completed(buf, static_cast<int32_t>(buf.resid));
    }
    lane.backing_->prepare(buf);
}

void Device::submitting(Lane& lane, hrtime_t now) {
    lane.ring_.hold(lock_);
    const auto writing = seq_.write();
    // The worker reads its own clock for all devices: see read_clock().
    const hrtime_t submitted = std::max(now, lane.first_submitted_);
    if constexpr (accounting) timers_[submit_timer].event(lane.first_submitted_, submitted);
}

// A flush that is running may have begun before the writes that this one must cover had ended, so
// it cannot stand in for it; the next one can, and for all that have come by then.
void Device::run_flush(Buf& buf, Lane& here, hrtime_t now) {
    if (flushing_) return next_flush_.push(buf);
    flushing_ = true;
    add(syncs_, 1);
    call(buf, here, now);
}

// The ring's turn is the wake-up: the first completion of it is the interrupt, the others came in
// its wake.
void Device::count_completion(Lane& lane) {
    const uint64_t turn = lane.ring_.turn();
    uint_t& count = intr_.intrs[turn == lane.last_turn_ ? KSTAT_INTR_MULTSVC : KSTAT_INTR_HARD];
    lane.last_turn_ = turn;
    kstat::publish(count, count + 1);
}

void Device::complete(Buf& buf, int32_t result) {
    Lane& lane = *buf.lane;
    lane.ring_.hold(lock_);
    if (buf.state == Buf::State::called) {
        buf.state = Buf::State::running;
        return run(buf, kstat::now_unscaled());
    }
    if (buf.state == Buf::State::ended) return give_back(buf, lane);
    if constexpr (accounting) count_completion(lane);
    switch (buf.absorb(result)) {  // no default: the compiler finds the case we forgot
        case Buf::Next::again:
            return submit(buf, kstat::now_unscaled());
        case Buf::Next::finish:
            if (lane.backing_->more(buf)) return submit(buf, kstat::now_unscaled());
            if (buf.error != 0 && buf.syncs()) sync_error_ = buf.error;
            return buf.op == Buf::Op::flush ? flush_done(buf) : done(buf);
    }
}

void Device::done(Buf& buf) {
    assert(buf.state == Buf::State::running);
    Lane& lane = *buf.lane;
    ended(buf);
    account(buf);
    sample(buf);
    give_back(buf, lane);
    start(lane);
}

void Device::ended(Buf& buf) {
    assert(active_ > 0 && buf.lane->active_ > 0);
    --active_;
    --buf.lane->active_;
}

// iodone comes last: after it the buf may be someone else's. It is called by the buf's own worker.
void Device::give_back(Buf& buf, Lane& here) {
    if (buf.lane != &here) {
        buf.state = Buf::State::ended;
        return buf.lane->ring_.post(buf, 0);
    }
    buf.state = Buf::State::idle;
    buf.iodone(buf);
}

// Ends a flush and those that it served, and starts the one that the later ones wait for.
void Device::flush_done(Buf& leader) {
    Lane& here = *leader.lane;
    const auto finish = [&, error = leader.error](Buf& buf) {
        here.ring_.hold(lock_);
        buf.error = error;
        account(buf);
        give_back(buf, here);
    };
    ended(leader);
    flushing_ = false;
    BufQueue served;
    while (!this_flush_.empty()) served.push(this_flush_.pop());
    if (!next_flush_.empty()) {
        Buf& next = next_flush_.pop();
        while (!next_flush_.empty()) this_flush_.push(next_flush_.pop());
        run_flush(next, here, kstat::now_unscaled());
    }
    finish(leader);
    while (!served.empty()) finish(served.pop());
    here.ring_.hold(lock_);
    table_may_have_changed();
    start(here);
}

// Counts a request that leaves the device, failed or not, with the bytes that it moved: what left
// the run queue is in the operations, so that lentime / operations is the mean stay.
void Device::account(Buf& buf) {
    if constexpr (!accounting) return;
    Counters& counters = counters_[static_cast<size_t>(buf.op)];
    const auto writing = seq_.write();
    buf.finished = read_clock();
    on_kstats(buf, [&](kstat_io_t& io) { leave_runq(io, buf); });
    on_devstats(buf, [&](DevstatCounters& counts) { counts.end(buf); });
    histograms_.count(buf);
    time_discard_or_flush(buf);
    add(counters.requests, 1);
    add(counters.bytes, buf.moved());
    count_outcome(buf);
    if (touches_table(buf)) table_touched_ = true;
}

// One read or write in so many, by the stamps that the queues and the histograms have. Outside the
// sequence lock, for it takes longer than readers of the counters should have to wait.
void Device::sample(const Buf& buf) {
    if constexpr (!accounting) return;
    if (!buf.in_queues() || !stats_.due()) return;
    // The counter may be read a little early or late: two moments that close may change places.
    const auto ns = [&](hrtime_t from, hrtime_t to) {
        return scale_.to_ns(static_cast<uint64_t>(std::max<hrtime_t>(to - from, 0)));
    };
    stats_.take({.write = buf.op == Buf::Op::write,
                 .wait_ns = ns(buf.queued, buf.started),
                 .service_ns = ns(buf.started, buf.finished),
                 .size_bytes = buf.bcount,
                 .depth = buf.met});
}

void Device::time_discard_or_flush(const Buf& buf) {
    const auto event = [&](TimerIndex timer) { timers_[timer].event(buf.started, buf.finished); };
    switch (buf.op) {
        case Buf::Op::flush:
            return event(flush_timer);
        case Buf::Op::trim:
            return event(trim_timer);
        case Buf::Op::write_zeroes:
            return event(write_zeroes_timer);
        case Buf::Op::read:
        case Buf::Op::write:
        case Buf::Op::cache:
        case Buf::Op::block_status:
            return;  // the queues tell of the first two; nobody waits for the others
    }
}

void Device::count_outcome(const Buf& buf) {
    if (buf.error != 0) {
        add(counters_[static_cast<size_t>(buf.op)].errors, 1);
        if (!buf.declined()) errors_.failed(buf.error);
    } else if (buf.retries_left != retries_max) {
        errors_.recovered();
    }
}

void Device::connection_opened(Lane& lane) {
    lane.ring_.hold(lock_);
    add(connections_, 1);
    add(connections_total_, 1);
    uint_t& handed_over = intr_.intrs[KSTAT_INTR_SOFT];
    kstat::publish(handed_over, handed_over + 1);
}

void Device::connection_closed(Lane& lane) {
    lane.ring_.hold(lock_);
    kstat::publish(connections_, connections_ - 1);
    if (connections_ == 0) table_may_have_changed();
}

void Device::connection_given_up(Lane& lane) {
    lane.ring_.hold(lock_);
    uint_t& given_up = intr_.intrs[KSTAT_INTR_WATCHDOG];
    kstat::publish(given_up, given_up + 1);
}

void Device::request_refused(Lane& lane) {
    lane.ring_.hold(lock_);
    errors_.refused();
}

}  // namespace blkscope
