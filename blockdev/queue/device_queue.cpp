#include "blockdev/queue/device_queue.hpp"

#include <cassert>

#include "blockdev/model/limits.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {

DeviceQueue::DeviceQueue(uint32_t depth, StartOrder order) : depth_(depth), waiting_(order) {
    assert(depth_ > 0);
}

void DeviceQueue::set_depth(uint32_t depth) {
    assert(depth > 0);
    publish(depth_, depth);
}

bool DeviceQueue::idle() const {
    return running_ == 0 && waiting_.none() && gathered_.empty();
}

void DeviceQueue::enter(Buf& buf) {
    assert(buf.state == Buf::State::waiting);
    assert(&buf != flush_);
    waiting_.enter(buf);
}

void DeviceQueue::begin_pass(model::Limits& limits, hrtime_t now) {
    waiting_.end_pass();
    limits.begin(now);
}

DeviceQueue::Turn DeviceQueue::next(model::Limits* limits) {
    assert(flush_ == nullptr || running_ > 0);
    assert(flush_ != nullptr || gathered_.empty());
    while (!waiting_.all_asked()) {
        const Buf& front = waiting_.front();
        const bool gathers = front.op == Buf::Op::flush && flush_ != nullptr;
        if (!gathers && running_ >= depth_) break;
        if (front.exempt || admits(front, limits)) return take_front();
        if (limits != nullptr && limits->exhausted()) break;
        waiting_.refuse_front();
    }
    waiting_.end_pass();
    return {};
}

// A request that lacks tokens of its client takes none of the device's, and the reverse.
bool DeviceQueue::admits(const Buf& buf, model::Limits* limits) {
    const bool has_own = buf.client != nullptr && buf.client->limits;
    if (has_own && !buf.client->limits->has_tokens(buf)) return false;
    if (limits != nullptr && !limits->has_tokens(buf)) return false;
    if (has_own) buf.client->limits->take(buf);
    if (limits != nullptr) limits->take(buf);
    return true;
}

// The next request starts or, as a flush while another one runs, is gathered.
DeviceQueue::Turn DeviceQueue::take_front() {
    Buf& buf = waiting_.take_front();
    assert(buf.state == Buf::State::waiting);
    const bool flush = buf.op == Buf::Op::flush;
    if (flush && flush_ != nullptr) {
        (planted("flush-joins") ? served_ : gathered_).push(buf);
        return {&buf, false};
    }
    assert(running_ < depth_);
    ++running_;
    if (flush) flush_ = &buf;
    return {&buf, true};
}

void DeviceQueue::ended(const Buf& buf) {
    assert(running_ > 0);
    assert(buf.op != Buf::Op::flush);
    if (planted("place-kept") && buf.error != 0) return;
    --running_;
}

Buf* DeviceQueue::end_flush(const Buf& leader, BufQueue& served) {
    assert(running_ > 0);
    assert(flush_ == &leader);
    assert(served.empty());
    --running_;
    flush_ = nullptr;
    served.take_over(served_);
    if (gathered_.empty()) return nullptr;
    Buf& next = gathered_.pop();
    served_.take_over(gathered_);
    assert(next.op == Buf::Op::flush);
    flush_ = &next;
    ++running_;  // the new flush takes the place of the old one
    return &next;
}

}  // namespace blkscope
