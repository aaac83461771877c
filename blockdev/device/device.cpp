#include "blockdev/device/device.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log_line.hpp"
#include "blockdev/accounting/accounting.hpp"
#include "blockdev/device/detours.hpp"
#include "blockdev/device/extents.hpp"
#include "blockdev/device/pacing.hpp"
#include "blockdev/device/plan.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

Subject subject_of(const Backing& backing, const std::optional<kstat::InstanceClaim>& instance,
                   const DeviceOptions& options, const Kernel& kernel) {
    const int number = instance ? instance->number() : -1;
    const std::string text = backing.describe();
    return {.instance = number,
            .name = instance ? device_module + std::to_string(number) : device_module,
            .size_bytes = backing.size_bytes(),
            .block_bytes = backing.block_bytes(),
            .stats_rate = options.stats_rate,
            .client_stats = options.client_stats,
            .product = text.substr(text.rfind('/') + 1),  // npos + 1 is 0
            .ticks_are_ns = kernel.ticks_are_ns};
}

// Whether a request lies inside the device and is aligned to it.
bool valid(const Buf& buf, uint64_t size_bytes, uint32_t block_bytes) {
    if (buf.op == Buf::Op::flush) return true;
    if (buf.offset > size_bytes || buf.bcount > size_bytes - buf.offset) return false;
    return buf.offset % block_bytes == 0 && buf.bcount % block_bytes == 0;
}

// Whether writes were lost since the buf's caller was told of losses. The caller is now told.
// `device_was_told` is the same of all callers together.
bool tells_loss(const Buf& buf, uint64_t losses, uint64_t& device_was_told) {
    const bool own = buf.losses_seen != nullptr && !planted("loss-told-once");
    uint64_t& was_told = own ? *buf.losses_seen : device_was_told;
    assert(was_told <= losses);
    if (was_told == losses) return false;
    was_told = device_was_told = losses;
    return true;
}

// Processors' counters agree to much better than a thousandth of trusted_pause_ns, which is 100 us.
constexpr uint64_t skews_per_pause = 1000;

// A table that could not be read changes nothing.
void take(TableLook look, TableWatch& watch, Accounting& accounting) {
    if (auto partitions = watch.take(std::move(look))) {
        accounting.io().partitions().replace(*partitions);
    }
}

}  // namespace

Device::Device(Ring& ring, std::unique_ptr<Backing> backing,
               std::optional<kstat::InstanceClaim> instance, DeviceOptions options)
    : Controls(*this),
      instance_(std::move(instance)),
      subject_(subject_of(*backing, instance_, options, ring.kernel())),
      queue_(options.queue_depth, options.order),
      table_(subject_),
      trusted_pause_(static_cast<uint64_t>(kernel_ticks(ring.kernel(), trusted_pause_ns))),
      accounting_(std::make_unique<Accounting>(subject_)),
      pacing_(std::make_unique<Pacing>(ring.kernel(), options.queue_depth, options.behaviour.seed,
                                       options.behaviour.busy_wait)),
      first_lane_(std::make_unique<Lane>(*this, ring, std::move(backing))) {
    assert(subject_.block_bytes > 0 && subject_.size_bytes % subject_.block_bytes == 0);
    auto& first = *first_lane_->backing_;
    take(options.table ? std::move(*options.table) : blkscope::look_at_table(first), table_,
         *accounting_);
    set_up(std::move(options.behaviour));
    if (instance_) first_lane_->backing_->publish(subject_);
}

Device::~Device() {
    first_lane_->ring_.unlock();  // readers of the kstats that are withdrawn may wait for the lock
    withdraw();
    assert(lanes_ == 1);  // the first lane
    assert(idle());
    first_lane_.reset();
    assert(lanes_ == 0);
}

bool Device::idle() const {
    const auto is_empty = [](const kstat_io_t* io) { return io->wcnt == 0 && io->rcnt == 0; };
    const auto volumes = partitions();
    return is_empty(&io()) && std::ranges::all_of(volumes, is_empty) && queue_.idle() &&
           pacing_->idle();
}

std::unique_ptr<Lane> Device::open_lane(Ring& ring) {
    std::unique_ptr<Backing> another = backing().another();
    return another ? std::make_unique<Lane>(*this, ring, std::move(another)) : nullptr;
}

// Another processor's clock may be a few ticks behind. Stamps of one device must never run
// backwards. A counter that a resume has moved is found here, before a stamp is taken from it: one
// that jumped ahead would make planned ends come too late, and one behind would stop the device.
hrtime_t Device::read_clock(const Lane& lane) {
    Kernel& kernel = lane.ring_.kernel();  // a thread that changes the device has no ring
    hrtime_t now = kernel.now();
    const uint64_t since = static_cast<uint64_t>(now) - static_cast<uint64_t>(latest_);
    if (since > trusted_pause_ && !planted("jump-stamped")) [[unlikely]] {
        const uint64_t behind = uint64_t{0} - since;
        if (planted("stamps-go-back")) return latest_ = now;
        if (behind <= trusted_pause_ / skews_per_pause) return latest_;
        kernel.correct_clock();
        now = std::max(latest_, kernel.now());
    }
    return latest_ = now;
}

// ---- A request starts ----

void Device::strategy(Buf& buf, Lane& lane) {
    assert(buf.state == Buf::State::idle);
    assert(&lane.device_ == this);
    assert(buf.iodone != nullptr);
    assert(static_cast<size_t>(buf.op) < Buf::op_count);
    buf.error = 0;
    buf.resid = buf.bcount;
    buf.disconnects = buf.excused = buf.injected = false;
    buf.drawn_ns = buf.upstream_cookie = 0;
    buf.extents.clear();
    lane.ring_.lock(lock_);
    if (!valid(buf, size_bytes(), subject_.block_bytes)) {
        buf.error = EINVAL;
        accounting_->errors().refused();
        return buf.iodone(buf);
    }
    buf.lane = &lane;
    buf.partition = accounting_->io().partitions().find(buf.offset, buf.bcount);
    buf.step = Buf::Step::work;
    buf.retries_left = Buf::retries_max;
    buf.zeroing_method = 0;
    buf.depth_on_arrival = io().wcnt + io().rcnt;
    buf.state = Buf::State::waiting;
    accounting_->entered(buf, [&] { return read_clock(lane); });
    queue_.enter(buf);
    start(lane);
}

// Starts bufs until the queue has none that can start. Operations are only prepared; the
// worker submits once per turn, however many requests the turn brought.
void Device::start(Lane& here) {
    here.ring_.lock(lock_);
    // The lock may be released on the way: power and limits are asked for each request.
    Tokens& tokens = pacing_->tokens();
    const auto limited = [&] { return powered_ && tokens.limited(); };
    if (limited()) {
        tokens.begin_pass(queue_, pacing_->to_ns(read_clock(here)));
    } else {
        queue_.end_passes();
    }
    for (;;) {
        here.ring_.lock(lock_);  // a backing that moves bytes itself has unlocked it
        const DeviceQueue::Turn turn = queue_.next(powered_ ? tokens.device() : nullptr);
        if (turn.buf == nullptr) break;
        assert(turn.buf->state == Buf::State::waiting);
        turn.buf->state = Buf::State::running;
        accounting_->started(*turn.buf, [&] { return read_clock(here); });
        if (turn.runs) hand_out(*turn.buf, here, turn.buf->started);
    }
    if (limited()) {
        here.alarms_.wait_for_tokens(here.ring_, tokens.again_at(queue_, here.ring_.kernel()));
    }
}

// A request runs on the ring of the worker that received it. Another worker gets it as a message.
void Device::hand_out(Buf& buf, Lane& here, hrtime_t now) {
    assert(buf.state == Buf::State::running);
    if (powered_ && pacing_->plans() && !buf.exempt) pacing_->plan(buf, now);
    ++buf.lane->active_;
    assert(buf.lane->active_ <= queue_.running());
    if (buf.op == Buf::Op::flush) accounting_->commands().synced();
    if (buf.lane == &here) return Detours::launch(buf, From::call);
    buf.state = Buf::State::called;
    buf.lane->ring_.post(buf, 0);
}

// Runs the buf until the kernel has an operation of it, or the buf is done.
void Device::run(Buf& buf, From from) {
    for (;;) {
        // A flush continues, so that it syncs as much as it can.
        if (sync_error_ != 0 && buf.must_be_stable() && buf.op != Buf::Op::flush) {
            buf.error = sync_error_;
            return done(buf, from);
        }
        if (buf.fua && buf.moved() == 0 &&
            tells_loss(buf, buf.lane->backing_->losses(), losses_seen_)) {
            buf.error = EIO;
            return done(buf, from);
        }
        if (Detours::is_void(buf)) {
            Detours::refuse(buf);
            return done(buf, from);
        }
        const std::optional<int32_t> result = begin(buf);
        if (!result || !take_in(buf, *result, from)) return;
    }
}

// Begins the next operation. The result, if the operation has already ended.
std::optional<int32_t> Device::begin(Buf& buf) {
    assert(buf.state == Buf::State::running);
    assert(buf.step != Buf::Step::settled);
    Lane& lane = *buf.lane;
    lane.announce_submission(buf.started);
    buf.covers = buf.resid;
    if (buf.op == Buf::Op::block_status && !lane.backing_->lists_extents()) {
        return list_extents(buf, *lane.backing_, lane.ring_);
    }
    // A fault may change the data, so the data is read.
    const bool struck = buf.plan != nullptr && buf.plan->fault;
    if (buf.op == Buf::Op::read && !struck && reads_only_holes(buf, *lane.backing_, lane.ring_)) {
        return static_cast<int32_t>(buf.resid);
    }
    return lane.backing_->prepare(buf);
}

// ---- A request ends ----

// iodone has these callers, each on the buf's own worker and with the device locked:
//
//     strategy()   a refused request, within the caller's own call; no queue has counted it
//     end()        a buf that ends in dispatch() of its own worker
//     complete()   a buf that has ended elsewhere: within a call, or on another worker
void Device::complete(Buf& buf, int32_t result) {
    Lane& lane = *buf.lane;
    assert(&lane.device_ == this);
    switch (buf.state) {
        case Buf::State::called:  // another worker has started the buf, and it runs here
            assert(result == 0);
            lane.ring_.lock(lock_);
            buf.state = Buf::State::running;
            Detours::launch(buf, From::dispatch);
            return start(lane);
        case Buf::State::running:  // an operation of the buf has ended
            if (take_in(buf, result, From::dispatch)) run(buf, From::dispatch);
            return start(lane);
        case Buf::State::ended:  // end() has counted it already
            assert(result == 0);
            lane.ring_.lock(lock_);
            buf.state = Buf::State::idle;
            return buf.iodone(buf);
        case Buf::State::idle:
        case Buf::State::waiting:
            break;
    }
    assert(false);  // the buf is not with the backing
}

// Applies the result of one operation. True if the request needs another operation.
bool Device::take_in(Buf& buf, int32_t result, From from) {
    Lane& lane = *buf.lane;
    lane.ring_.lock(lock_);
    accounting_->completed(lane.ring_.turn(), lane.last_turn_);
    switch (buf.absorb(result)) {  // no default: the compiler reports a missing case
        case Buf::Next::again:
            if (planted("run-queue-twice")) accounting_->entered(buf, [&] { return latest_; });
            return true;
        case Buf::Next::finish:
            if (lane.backing_->more(buf)) return true;
            done(buf, from);
            return false;
    }
    return false;
}

void Device::done(Buf& buf, From from) {
    assert(buf.state == Buf::State::running);
    assert(buf.error >= 0);
    assert(buf.error != 0 || buf.resid == 0 || buf.extents.full());
    if (buf.plan != nullptr) Detours::strike(buf);
    note_sync(buf);
    if (buf.plan != nullptr && Detours::holds(buf)) return;
    finish(buf, from);
}

void Device::finish(Buf& buf, From from) {
    assert(buf.state == Buf::State::running);
    Lane& lane = *buf.lane;
    if (buf.plan != nullptr) {
        pacing_->ended(buf, read_clock(lane));
    } else if (pacing_->is_before_model(buf)) {
        pacing_->unplanned_ended(buf, read_clock(lane));
    }
    assert(lane.active_ > 0);
    --lane.active_;
    if (buf.op == Buf::Op::flush) return flush_done(buf, from);
    queue_.ended(buf);
    end(buf, lane, from);
}

// Ends a flush and the gathered flushes that it served. Then runs the next flush, if there is one. A backing
// without its server gives up a flush whose client has ended; the clients of the others still wait for theirs.
void Device::flush_done(Buf& leader, From from) {
    assert(leader.op == Buf::Op::flush);
    Lane& here = *leader.lane;
    BufQueue served;
    const bool given_up = leader.injected && leader.error != 0 && !leader.wanted() &&
                          !planted("flush-given-up-for-all");
    Buf* const next = given_up ? queue_.give_up_flush(leader) : queue_.end_flush(leader, served);
    const int error = leader.error;
    const bool excused = leader.excused;
    end(leader, here, from);
    while (!served.empty()) {
        Buf& buf = served.pop();
        assert(buf.op == Buf::Op::flush);
        buf.error = planted("gathered-flush-succeeds") ? 0 : error;
        buf.excused = excused;
        end(buf, here, from);
    }
    here.ring_.lock(lock_);
    here.look_at_table();
    if (next != nullptr) hand_out(*next, here, read_clock(here));
}

// Counts the end of a request, failed or not, and returns the buf. iodone is called last, because
// the caller may then reuse the buf. The buf's own worker calls iodone, from dispatch().
void Device::end(Buf& buf, Lane& here, From from) {
    assert(buf.state == Buf::State::running);
    here.ring_.lock(lock_);  // an iodone before this one may have unlocked it
    const bool flushes = buf.op == Buf::Op::flush;
    if (flushes && tells_loss(buf, buf.lane->backing_->losses(), losses_seen_) && buf.error == 0) {
        buf.error = EIO;
    }
    accounting_->ended(buf, [&] { return read_clock(here); });
    table_.ended(buf, !accounting_->io().partitions().empty());
    const bool own = buf.lane == &here;
    if (own && from == From::dispatch) {
        buf.state = Buf::State::idle;
        return buf.iodone(buf);
    }
    buf.state = Buf::State::ended;
    if (own) return here.ring_.completed(buf, 0);
    buf.lane->ring_.post(buf, 0);
}

void Device::note_sync(Buf& buf) {
    if (!buf.must_be_stable() || buf.injected) return;
    if (buf.error != 0 && !buf.syncs()) return;
    if (buf.error != 0 && sync_error_ == 0 && !planted("sync-forgotten")) {
        sync_error_ = buf.error;
        synced_ = false;
        accounting_->commands().sync_failed(sync_error_);
        // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's buffer belongs to the thread
        const char* const why = std::strerror(sync_error_);
        log_line(subject_.name, ": sync: ", why,
                 "; data may be lost, so FLUSH and FUA fail until the export is served again");
    }
    if (buf.op == Buf::Op::flush && buf.error == 0) synced_ = true;
    // The kernel reports a failure once to each description. A sync that ends later may have
    // succeeded only because another one was told.
    buf.error = sync_error_;
}

// Reads a few blocks at once, while the device's other workers wait. The page cache has these
// blocks, unless the backing is direct.
void Device::look_at_table() {
    if (!table_.touched() || !first_lane_->backing_->reads_now()) return;
    take(blkscope::look_at_table(*first_lane_->backing_), table_, *accounting_);
}

// ---- The counters ----

const kstat_io_t& Device::io() const {
    return accounting_->io().disk();
}

std::vector<const kstat_io_t*> Device::partitions() const {
    return accounting_->io().partitions().counters();
}

RequestHistograms& Device::histograms() {
    return accounting_->histograms();
}

}  // namespace blkscope
