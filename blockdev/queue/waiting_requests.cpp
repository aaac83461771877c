#include "blockdev/queue/waiting_requests.hpp"

#include <cassert>

#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

// A planted defect: one lane's requests overtake all others. Their order is otherwise unchanged.
void stay_with_lane(BufQueue& waiting) {
    BufQueue first;
    BufQueue rest;
    const Lane* const lane = waiting.front().lane;
    while (!waiting.empty()) {
        Buf& buf = waiting.pop();
        (buf.lane == lane ? first : rest).push(buf);
    }
    waiting.take_over(first);
    waiting.take_over(rest);
}

}  // namespace

WaitingLine& WaitingRequests::line_of(const Buf& buf) {
    return order_ == StartOrder::fair && buf.client != nullptr ? buf.client->line : all_;
}

void WaitingRequests::enter(Buf& buf) {
    WaitingLine& line = line_of(buf);
    // A line whose requests were all refused has its place already.
    if (line.waiting.empty() && line.refused.empty()) turns_.push(line);
    assert(line.refused.empty() || any_refused_);
    line.waiting.push(buf);
    if (planted("lane-starves")) stay_with_lane(line.waiting);
}

Buf& WaitingRequests::take_front() {
    WaitingLine& line = turns_.front();
    Buf& buf = line.waiting.pop();
    if (order_ == StartOrder::arrival && !line.waiting.empty()) return buf;
    turns_.pop();
    if (!line.waiting.empty()) {
        turns_.push(line);
    } else if (!line.refused.empty()) {
        refused_.push(line);
    }
    return buf;
}

void WaitingRequests::refuse_front() {
    WaitingLine& line = turns_.front();
    line.refused.push(line.waiting.pop());
    any_refused_ = true;
    if (line.waiting.empty()) refused_.push(turns_.pop());
}

// The refused requests of a line arrived before those that still wait. The lines that were refused
// had their turns before the others.
void WaitingRequests::end_pass() {
    if (!any_refused_) return;
    any_refused_ = false;
    refused_.take_over(turns_);
    while (!refused_.empty()) {
        WaitingLine& line = refused_.pop();
        line.refused.take_over(line.waiting);
        line.waiting.take_over(line.refused);
        assert(!line.waiting.empty());
        turns_.push(line);
    }
}

}  // namespace blkscope
