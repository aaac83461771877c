#include "blockdev/queue/waiting_requests.hpp"

#include <cassert>
#include <utility>

#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

// A planted defect: one lane's requests overtake all others. Their order is otherwise unchanged.
void stay_with_lane(KnownQueue& waiting) {
    KnownQueue first;
    KnownQueue rest;
    const Lane* const lane = waiting.front().lane;
    while (!waiting.empty()) {
        Buf& buf = waiting.pop();
        (buf.lane == lane ? first : rest).push(buf);
    }
    waiting.take_over(first);
    waiting.take_over(rest);
}

// Removes the line for which `earlier` is true against all others. The order of the rest is free.
template <class Lines, class Earlier>
WaitingLine& pop_first(Lines& lines, Earlier earlier) {
    Lines rest;
    WaitingLine* first = &lines.pop();
    while (!lines.empty()) {
        WaitingLine* line = &lines.pop();
        if (earlier(*line, *first)) std::swap(line, first);
        rest.push(*line);
    }
    lines.take_over(rest);
    return *first;
}

}  // namespace

// ---- Turns ----

WaitingLine& WaitingRequests::line_of(const Buf& buf) {
    if (buf.client == nullptr) return all_;
    return order_ == StartOrder::fair || buf.client->limits ? buf.client->line : all_;
}

void WaitingRequests::give_turn(WaitingLine& line) {
    if (std::exchange(line.has_turn, true)) return;
    turns_.push(line);
}

void WaitingRequests::enter(Buf& buf) {
    WaitingLine& line = line_of(buf);
    line.waiting.push(buf);
    give_turn(line);
    if (planted("lane-starves")) stay_with_lane(line.waiting);
}

// In the order of arrival the clients' lines are emptied by their earliest requests, so only fair order has to
// give the requests of the common line to their clients.
void WaitingRequests::set_order(StartOrder order) {
    order_ = order;
    if (order == StartOrder::arrival) return;
    KnownQueue waiting;
    waiting.take_over(all_.waiting);
    WaitingLines lines;
    lines.take_over(turns_);
    while (!lines.empty()) {
        WaitingLine& line = lines.pop();
        line.has_turn = line.may_have_turn();
        if (line.has_turn) turns_.push(line);
    }
    while (!waiting.empty()) enter(waiting.pop());
}

// In the order of arrival one line is the usual case.
void WaitingRequests::bring_earliest_forward() {
    if (turns_.front().next == nullptr) return;
    WaitingLine& first = pop_first(turns_, [](const WaitingLine& line, const WaitingLine& other) {
        return line.front().queued < other.front().queued;
    });
    WaitingLines rest;
    rest.take_over(turns_);
    turns_.push(first);
    turns_.take_over(rest);
}

Buf& WaitingRequests::front() {
    if (order_ == StartOrder::arrival) bring_earliest_forward();
    return turns_.front().front();
}

Buf& WaitingRequests::take_front() {
    WaitingLine& line = turns_.front();
    const bool paid = !line.paid.empty();
    Buf& buf = paid ? line.paid.pop() : line.waiting.pop();
    if (paid && !line.refused.empty()) to_ask_.push(line);
    if (order_ == StartOrder::arrival && line.may_have_turn()) return buf;
    turns_.pop();
    line.has_turn = false;
    if (line.may_have_turn()) give_turn(line);
    return buf;
}

// ---- Tokens ----

void WaitingRequests::refuse_front(const Admission& admission) {
    WaitingLine& line = turns_.front();
    assert(line.paid.empty());
    ++refusals_;
    if (line.refused.empty()) refused_.push(line);
    Buf& buf = line.waiting.pop();
    line.refused.push(buf);
    const uint8_t barred = admission.barred(buf, is_of_one_client(line));
    if (line.waiting.has_only(barred)) line.refused.take_over(line.waiting);
    if (line.may_have_turn()) return;
    turns_.pop();
    line.has_turn = false;
}

// A line that gets no tokens waits before all that did.
void WaitingRequests::ask_again() {
    refused_.take_over(to_ask_);
    to_ask_.take_over(refused_);
}

void WaitingRequests::ask_refused(const Admission& admission) {
    while (left_to_ask()) {
        WaitingLine& line = pop_to_ask();
        if (pay_one(line, admission)) continue;
        ++refusals_;
        refused_.push(line);
    }
}

WaitingLine& WaitingRequests::pop_to_ask() {
    if (order_ == StartOrder::fair || to_ask_.front().next_refused == nullptr) return to_ask_.pop();
    return pop_first(to_ask_, [](const WaitingLine& line, const WaitingLine& other) {
        return line.refused.front().queued < other.refused.front().queued;
    });
}

// The first refused request of the line that has tokens waits for its turn.
bool WaitingRequests::pay_one(WaitingLine& line, const Admission& admission) {
    assert(!line.refused.empty());
    KnownQueue passed;
    bool paid = false;
    uint8_t barred = admission.barred(line.refused.front(), is_of_one_client(line));
    while (!paid && !line.refused.has_only(barred)) {
        Buf& buf = line.refused.pop();
        paid = admission.admits(buf);
        if (paid) {
            line.paid.push(buf);
        } else {
            passed.push(buf);
            barred = admission.barred(buf, is_of_one_client(line));
        }
    }
    passed.take_over(line.refused);
    line.refused.take_over(passed);
    if (paid) give_turn(line);
    return paid;
}

void WaitingRequests::forget_refusals() {
    refused_.take_over(to_ask_);
    while (!refused_.empty()) {
        WaitingLine& line = refused_.pop();
        line.refused.take_over(line.waiting);
        line.waiting.take_over(line.refused);
        give_turn(line);
    }
}

}  // namespace blkscope
