#include "blockdev/device/detours.hpp"

#include <cassert>
#include <cerrno>
#include <optional>

#include "blockdev/accounting/accounting.hpp"
#include "blockdev/device/injection.hpp"
#include "blockdev/device/pacing.hpp"
#include "blockdev/device/plan.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {

void Detours::launch(Buf& buf, Device::From from) {
    assert(buf.state == Buf::State::running);
    Lane& lane = *buf.lane;
    Device& device = lane.device();
    if (buf.plan == nullptr || !buf.plan->fault) return device.run(buf, from);
    switch (before_backing(buf, *buf.plan->fault, device.subject_.block_bytes)) {
        case Verdict::run:
            return device.run(buf, from);
        case Verdict::done:
            return device.done(buf, from);
        case Verdict::hang:
            break;
    }
    Pacing& pacing = *device.pacing_;
    // The rule may have been removed while the request was on its way from another worker. Such a
    // request did not hang yet, so the removal has not released it.
    const bool is_released = !pacing.rules().has(buf.plan->fault->rule);
    if (!buf.wanted() || is_released) return device.run(buf, from);
    const std::optional<hrtime_t> until = pacing.hang(buf, device.read_clock(lane));
    if (until) lane.alarms_.hold(lane.ring_, *buf.plan, *until, pacing.busy_wait());
}

bool Detours::is_void(Buf& buf) {
    const bool asks_why = buf.op == Buf::Op::write && buf.step == Buf::Step::sync;
    if (buf.op == Buf::Op::flush || asks_why) return false;
    return buf.orphaned() || (!buf.lane->device().powered_ && !buf.wanted());
}

void Detours::refuse(Buf& buf) {
    buf.error = ESHUTDOWN;
    buf.excused = buf.injected = true;
}

void Detours::strike(Buf& buf) {
    assert(buf.plan != nullptr);
    if (buf.plan->fault) after_backing(buf, *buf.plan->fault);
}

bool Detours::holds(Buf& buf) {
    assert(buf.plan != nullptr);
    Lane& lane = *buf.lane;
    Device& device = lane.device();
    Pacing& pacing = *device.pacing_;
    const std::optional<hrtime_t> until = pacing.answered(buf, device.read_clock(lane));
    if (!until || !device.powered_) return false;
    lane.alarms_.hold(lane.ring_, *buf.plan, *until, pacing.busy_wait());
    return true;
}

void Detours::resume(Lane& here) {
    Device& device = here.device();
    here.ring_.lock(device.lock_);
    device.read_clock(here);
    resume_due(here, Device::From::dispatch);
    here.alarms_.set_again(here.ring_);
    device.start(here);
}

// Without power all requests are due.
void Detours::resume_due(Lane& here, Device::From from) {
    Device& device = here.device();
    while (const auto entry =
               here.alarms_.pop_due(device.powered_ ? device.latest_ : Alarm::never)) {
        Plan& plan = *entry->plan;
        if (plan.number != entry->number || plan.until != entry->until) continue;  // went on before
        Buf& buf = *plan.buf;
        assert(buf.lane == &here);
        plan.phase == Plan::Phase::hung ? go_on(buf, from) : device.finish(buf, from);
        here.ring_.lock(device.lock_);  // an iodone may have unlocked it
    }
}

// The time of a hung request is over.
void Detours::go_on(Buf& buf, Device::From from) {
    Device& device = buf.lane->device();
    BufQueue itself;
    device.pacing_->take_hung([&](const Buf& other) { return &other == &buf; }, itself);
    assert(!itself.empty());
    device.pacing_->go_on(itself.pop(), device.latest_);
    device.run(buf, from);
}

void Detours::abandon(Lane& lane) {
    Device& device = lane.device();
    Pacing& pacing = *device.pacing_;
    lane.ring_.lock(device.lock_);
    BufQueue unwanted;
    pacing.take_hung([&](const Buf& buf) { return buf.lane == &lane && !buf.wanted(); }, unwanted);
    end_orphans(lane);
    if (unwanted.empty() && device.powered_) return;
    while (!unwanted.empty()) {
        lane.ring_.lock(device.lock_);
        end_unwanted(unwanted.pop());
    }
    lane.ring_.lock(device.lock_);
    if (!device.powered_) {
        device.read_clock(lane);
        resume_due(lane, Device::From::call);
        lane.alarms_.set_again(lane.ring_);
    }
    device.start(lane);
}

// A flush that does not run serves no other client, so it ends, too.
void Detours::end_orphans(Lane& lane) {
    Device& device = lane.device();
    BufQueue orphans;
    device.queue_.take_out([&](Buf& buf) { return buf.lane == &lane && buf.orphaned(); }, orphans);
    while (!orphans.empty()) {
        Buf& buf = orphans.pop();
        lane.ring_.lock(device.lock_);
        if (buf.state == Buf::State::waiting) {
            buf.state = Buf::State::running;
            device.accounting_->started(buf, [&] { return device.read_clock(lane); });
        }
        assert(buf.state == Buf::State::running);
        refuse(buf);
        device.end(buf, lane, Device::From::call);
    }
}

// A flush goes on, because it may serve other clients' flushes, which must not fail.
void Detours::end_unwanted(Buf& buf) {
    Device& device = buf.lane->device();
    Pacing& pacing = *device.pacing_;
    const hrtime_t now = device.read_clock(*buf.lane);
    pacing.abandoned();
    pacing.go_on(buf, now);
    const bool runs = buf.op == Buf::Op::flush || planted("hung-served");
    if (runs) return device.run(buf, Device::From::call);
    refuse(buf);
    static_cast<void>(pacing.answered(buf, now));
    device.finish(buf, Device::From::call);
}

}  // namespace blkscope
