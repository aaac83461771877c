#include "tools/blkscope/replay_run.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tools/program/signals.hpp"

namespace blkscope {
namespace {

constexpr unsigned replay_ring_entries = 64;
// The first request is sent so long after the start.
constexpr hrtime_t replay_lead_ns = 10'000'000;

uint64_t longest_write(const std::vector<trace::Request>& requests) {
    uint64_t longest = 0;
    for (const trace::Request& request : requests) {
        if (request.op == trace::Op::write) longest = std::max(longest, request.bytes);
    }
    return longest;
}

}  // namespace

ReplayRun::ReplayRun(const std::vector<trace::Request>& requests, nbd::RemoteConnection connection,
                     const ReplayPace& pace)
    : requests_(requests),
      pace_(pace),
      data_(pace.seed, longest_write(requests)),
      ring_(replay_ring_entries),
      outcome_(requests.size()) {
    assert(pace_.speed > 0);
    ring_.enable();
    nbd::RequesterOwner& owner = *this;
    requester_.emplace(owner, ring_, std::move(connection), pace_.patience_ns);
}

int64_t ReplayRun::due_ns(const trace::Request& request, const trace::Request& first,
                          double speed) {
    assert(request.arrival() >= first.arrival());
    return std::llround(static_cast<double>(request.arrival() - first.arrival()) / speed);
}

hrtime_t ReplayRun::due_ticks(size_t number) const {
    return begin_ +
           kernel_ticks(ring_.kernel(), due_ns(requests_[number], requests_.front(), pace_.speed));
}

std::vector<Replayed> ReplayRun::run() {
    begin_ = ring_.now();
    if (pace_.in_flight == 0 && !requests_.empty()) {
        begin_ += kernel_ticks(ring_.kernel(), replay_lead_ns);
        ring_.set_alarm(timer_, begin_, true);
    }
    for (uint32_t i = 0; i < pace_.in_flight && next_ < requests_.size(); ++i) {
        send_next(ring_.now());
    }
    while (!is_done()) turn();
    requester_->close();
    while (!requester_->is_closed()) turn();
    if (!failure_.empty()) throw std::runtime_error(failure_);
    return std::move(outcome_);
}

bool ReplayRun::is_done() const {
    if (!failure_.empty()) return true;
    return (stopped_ || next_ == requests_.size()) && requester_->owed() == 0;
}

void ReplayRun::turn() {
    ring_.wait();
    ring_.dispatch();
    if (program::ending_signal() == 0 || stopped_) return;
    stopped_ = true;
    requester_->drop_unsent();
}

// Sends all requests that are due.
void ReplayRun::send_due() {
    const hrtime_t now = ring_.now();
    while (!stopped_ && failure_.empty() && next_ < requests_.size()) {
        const hrtime_t when = due_ticks(next_);
        if (when > now) return ring_.set_alarm(timer_, when, true);
        send_next(when);
    }
}

void ReplayRun::send_next(hrtime_t due) {
    assert(next_ < requests_.size());
    if (free_.empty()) free_.push_back(&memory_.emplace_back());
    Sending& sending = *free_.back();
    free_.pop_back();
    sending.number = next_++;
    sending.due = due;
    sending.request = remote_request(requests_[sending.number]);
    const bool writes = sending.request.type == nbd::Command::write;
    sending.payload = writes && sending.request.length > 0 ? data_.of(sending.number) : nullptr;
    requester_->send(sending);
}

void ReplayRun::answered(nbd::RemoteRequest& request) {
    auto& sending = static_cast<Sending&>(request);
    const auto ns = [&](hrtime_t ticks) { return kernel_ns(ring_.kernel(), ticks); };
    outcome_[sending.number] = {.sent_ns = ns(sending.sent) - ns(begin_),
                                .late_ns = std::max<int64_t>(ns(sending.sent) - ns(sending.due), 0),
                                .took_ns = ns(sending.answered) - ns(sending.sent),
                                .error = sending.error};
    free_.push_back(&sending);
    if (pace_.in_flight > 0 && !stopped_ && next_ < requests_.size()) send_next(ring_.now());
}

void ReplayRun::lost(std::string_view why) {
    const auto answers = std::count_if(outcome_.begin(), outcome_.end(),
                                       [](const Replayed& each) { return each.took_ns >= 0; });
    failure_ = std::string(why) + "; " + std::to_string(answers) + " of " +
               std::to_string(requests_.size()) + " requests were answered";
}

}  // namespace blkscope
