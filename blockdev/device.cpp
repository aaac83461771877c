#include "blockdev/device.hpp"

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
      ring_(ring),
      backing_(std::move(backing)),
      size_bytes_(backing_->size_bytes()),
      block_bytes_(backing_->block_bytes()),
      queue_depth_(queue_depth),
      disk_(seq_, instance_.number(), name_, disk_class, block_bytes_),
      partitions_(seq_, instance_.number(), block_bytes_),
      histograms_(seq_),
      stats_(instance_.number(), name_, stats_rate),
      histogram_kstats_(histograms_, name_, instance_.number()) {
    assert(queue_depth_ > 0);
    backing_->attach(ring_);
    publish_kstats();
    read_table();
    ring_.add_observer(*this);
}

Device::~Device() {
    ring_.remove_observer(*this);
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

// Moves a buf from one queue to the next, and says when that was: one reading of the clock, so that
// the queues and the request agree.
template <class Transition>
hrtime_t Device::transit(const Buf& buf, Transition transition) {
    if constexpr (!accounting) return 0;
    const auto writing = seq_.write();  // before the clock is read; see io_kstat.cpp
    const hrtime_t now = kstat::now_unscaled();
    on_kstats(buf, [&](kstat_io_t& io) { transition(io, now); });
    if (buf.state == Buf::State::waiting)
        on_devstats(buf, [&](auto& counts) { counts.begin(now); });
    return now;
}

void Device::strategy(Buf& buf) {
    assert(buf.state == Buf::State::idle);
    buf.error = 0;
    buf.resid = buf.bcount;
    buf.extents.clear();
    if (!valid(buf)) {
        buf.error = EINVAL;
        errors_.refused();
        return buf.iodone(buf);
    }
    buf.device = this;
    buf.partition = partitions_.find(buf.offset, buf.bcount);
    buf.step = 0;
    buf.retries_left = retries_max;
    buf.state = Buf::State::waiting;
    buf.met = disk_.io.wcnt + disk_.io.rcnt;
    buf.queued = transit(buf, kstat::waitq_enter);
    waitq_.push(buf);
    start();
}

// Hands bufs to the backing while the device has depth for them. It only prepares: the worker
// submits once per turn, however many requests that turn brought.
void Device::start() {
    while (active_ < queue_depth_ && !waitq_.empty()) {
        Buf& buf = waitq_.pop();
        buf.state = Buf::State::running;
        buf.started = transit(buf, kstat::waitq_to_runq);
        if (buf.op == Buf::Op::flush) {
            run_flush(buf, buf.started);
        } else {
            run(buf, buf.started);
        }
    }
}

void Device::run(Buf& buf, hrtime_t now) {
    ++active_;
    if (buf.must_be_stable() && sync_error_ != 0) return ring_.completed(buf, -sync_error_);
    submit(buf, now);
}

void Device::submit(Buf& buf, hrtime_t now) {
    if (!submitted_) {
        submitted_ = true;
        first_submitted_ = now;
        ring_.announce_submission();
    }
    buf.covers = buf.resid;
    if (buf.op == Buf::Op::block_status) return list_extents(buf);
    if (buf.op == Buf::Op::read && reads_only_holes(buf)) {
        return ring_.completed(buf, static_cast<int32_t>(buf.resid));
    }
    backing_->prepare(buf);
}

void Device::submitting(hrtime_t now) {
    if (!submitted_) return;  // another device's turn
    submitted_ = false;
    const auto writing = seq_.write();
    if constexpr (accounting) timers_[submit_timer].event(first_submitted_, now);
}

// A flush that is running may have begun before the writes that this one must cover had ended, so
// it cannot stand in for it; the next one can, and for all that have come by then.
void Device::run_flush(Buf& buf, hrtime_t now) {
    if (flushing_) return next_flush_.push(buf);
    flushing_ = true;
    add(syncs_, 1);
    run(buf, now);
}

// The ring's turn is the wake-up: the first completion of it is the interrupt, the others came in
// its wake.
void Device::count_completion() {
    const uint64_t turn = ring_.turn();
    uint_t& count = intr_.intrs[turn == last_turn_ ? KSTAT_INTR_MULTSVC : KSTAT_INTR_HARD];
    last_turn_ = turn;
    kstat::publish(count, count + 1);
}

void Device::complete(Buf& buf, int32_t result) {
    if constexpr (accounting) count_completion();
    switch (buf.absorb(result)) {  // no default: the compiler finds the case we forgot
        case Buf::Next::again:
            return submit(buf, kstat::now_unscaled());
        case Buf::Next::finish:
            if (backing_->more(buf)) return submit(buf, kstat::now_unscaled());
            if (buf.error != 0 && buf.syncs()) sync_error_ = buf.error;
            return buf.op == Buf::Op::flush ? flush_done(buf) : done(buf);
    }
}

// Gives the buf back. iodone comes last: after it the buf may be someone else's.
void Device::done(Buf& buf) {
    assert(buf.state == Buf::State::running && active_ > 0);
    --active_;
    account(buf);
    sample(buf);
    buf.state = Buf::State::idle;
    buf.iodone(buf);
    start();
}

// Ends a flush and those that it served, and starts the one that the later ones wait for.
void Device::flush_done(Buf& leader) {
    const int error = leader.error;
    const auto finish = [&](Buf& buf) {
        buf.error = error;
        account(buf);
        buf.state = Buf::State::idle;
        buf.iodone(buf);
    };
    --active_;
    flushing_ = false;
    BufQueue served;
    while (!this_flush_.empty()) served.push(this_flush_.pop());
    if (!next_flush_.empty()) {
        Buf& next = next_flush_.pop();
        while (!next_flush_.empty()) this_flush_.push(next_flush_.pop());
        run_flush(next, kstat::now_unscaled());
    }
    finish(leader);
    while (!served.empty()) finish(served.pop());
    table_may_have_changed();
    start();
}

// Counts a request that leaves the device, failed or not, with the bytes that it moved: what left
// the run queue is in the operations, so that lentime / operations is the mean stay.
void Device::account(Buf& buf) {
    if constexpr (!accounting) return;
    Counters& counters = counters_[static_cast<size_t>(buf.op)];
    const auto writing = seq_.write();
    buf.finished = kstat::now_unscaled();
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

void Device::connection_opened() {
    add(connections_, 1);
    add(connections_total_, 1);
    uint_t& handed_over = intr_.intrs[KSTAT_INTR_SOFT];
    kstat::publish(handed_over, handed_over + 1);
}

void Device::connection_closed() {
    kstat::publish(connections_, connections_ - 1);
    if (connections_ == 0) table_may_have_changed();
}

void Device::connection_given_up() {
    uint_t& given_up = intr_.intrs[KSTAT_INTR_WATCHDOG];
    kstat::publish(given_up, given_up + 1);
}

}  // namespace blkscope
