#include "blockdev/queue/device_queue.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "blockdev/queue/admission.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {

DeviceQueue::DeviceQueue(uint32_t depth, StartOrder order)
    : depth_(depth), order_(order), waiting_(order) {
    assert(depth_ > 0);
}

void DeviceQueue::set_depth(uint32_t depth) {
    assert(depth > 0);
    publish(depth_, depth);
}

void DeviceQueue::set_order(StartOrder order) {
    if (order == order_) return;
    publish(order_, order);
    waiting_.set_order(order);
}

bool DeviceQueue::idle() const {
    return running_ == 0 && waiting_.none() && flush_ == nullptr && served_.empty() &&
           gathered_.empty();
}

void DeviceQueue::enter(Buf& buf) {
    assert(buf.state == Buf::State::waiting);
    assert(&buf != flush_);
    buf.tokens_since = std::numeric_limits<hrtime_t>::min();
    waiting_.enter(buf);
}

void DeviceQueue::begin_pass(model::Limits& limits, hrtime_t now) {
    limits.begin(now);
    begin_pass(now);
}

void DeviceQueue::begin_pass(hrtime_t now) {
    now_ = now;
    waiting_.ask_again();
}

DeviceQueue::Turn DeviceQueue::next(model::Limits* limits) {
    assert(flush_ == nullptr || running_ > 0);
    assert(flush_ != nullptr || gathered_.empty());
    const Admission admission(limits, now_);
    const bool has_place = running_ < depth_;
    if (has_place && waiting_.left_to_ask()) waiting_.ask_refused(admission);
    while (!waiting_.all_asked()) {
        Buf& front = waiting_.front();
        const bool gathers = front.op == Buf::Op::flush && flush_ != nullptr;
        if (!gathers && !has_place) break;
        if (front.exempt || waiting_.front_is_paid()) return take_front();
        if (waiting_.left_to_ask()) break;
        if (admission.admits(front)) return take_front();
        waiting_.refuse_front(admission);
    }
    return {};
}

// The next request starts or, as a flush while another one runs, is gathered.
DeviceQueue::Turn DeviceQueue::take_front() {
    Buf& buf = waiting_.take_front();
    assert(buf.state == Buf::State::waiting);
    const bool flush = buf.op == Buf::Op::flush;
    if (flush) buf.newest = buf.queued - buf.held_back;
    if (flush && flush_ != nullptr) {
        join(buf, planted("flush-joins") ? served_ : gathered_);
        return {&buf, false};
    }
    assert(running_ < depth_);
    ++running_;
    if (flush) flush_ = &buf;
    return {&buf, true};
}

// The first of those that wait for the next flush will run for all of them.
void DeviceQueue::join(Buf& flush, BufQueue& others) {
    assert(flush.op == Buf::Op::flush);
    others.push(flush);
    others.front().newest = std::max(others.front().newest, flush.newest);
}

void DeviceQueue::ended(const Buf& buf) {
    assert(running_ > 0);
    assert(buf.op != Buf::Op::flush);
    if (planted("place-kept") && buf.error != 0) return;
    --running_;
}

Buf* DeviceQueue::end_flush(const Buf& leader, BufQueue& served) {
    assert(flush_ == &leader);
    assert(served.empty());
    served.take_over(served_);
    return next_flush();
}

Buf* DeviceQueue::give_up_flush(const Buf& leader) {
    assert(flush_ == &leader);
    BufQueue later;
    later.take_over(gathered_);
    for (BufQueue* const flushes : {&served_, &later}) {
        while (!flushes->empty()) join(flushes->pop(), gathered_);
    }
    return next_flush();
}

// The first of the gathered flushes runs for the others.
Buf* DeviceQueue::next_flush() {
    assert(running_ > 0);
    --running_;
    flush_ = nullptr;
    if (gathered_.empty()) return nullptr;
    Buf& next = gathered_.pop();
    served_.take_over(gathered_);
    assert(next.op == Buf::Op::flush);
    flush_ = &next;
    ++running_;  // the new flush takes the place of the old one
    return &next;
}

}  // namespace blkscope
