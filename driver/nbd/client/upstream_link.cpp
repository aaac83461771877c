#include "driver/nbd/client/upstream_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/log_line.hpp"
#include "blockdev/ring/planted.hpp"
#include "driver/nbd/client/upstream_terms.hpp"

namespace blkscope::nbd {
namespace {

constexpr hrtime_t ms_ns = 1'000'000;
constexpr hrtime_t pause_ns_min = 100 * ms_ns;
constexpr hrtime_t pause_ns_max = 5'000 * ms_ns;
constexpr hrtime_t stood_ns = 500 * ms_ns;  // a connection that stood so long was a good one
constexpr hrtime_t look_ns = 10 * ms_ns;  // how often a connection that ends or begins is looked at
constexpr hrtime_t waiting_look_ns = 100 * ms_ns;  // how often waiting requests are looked at
constexpr hrtime_t moment_ns_min = 100 * ms_ns;    // of an outage: a quarter of the timeout
constexpr hrtime_t moment_ns_max = 1'000 * ms_ns;

hrtime_t to_nanoseconds(std::chrono::milliseconds time) {
    return std::chrono::nanoseconds(time).count();
}

hrtime_t moment_ns(hrtime_t timeout_ns) {
    return std::clamp(timeout_ns / 4, moment_ns_min, moment_ns_max);
}

bool may_go(const UpstreamRequest& request, const UpstreamOrder& order, hrtime_t now) {
    return request.writes() ? order.may_go(request.range, now) : order.may_read(request.range, now);
}

}  // namespace

UpstreamLink::UpstreamLink(Ring& ring, const UpstreamTarget& target, UpstreamDialer& dialer,
                           UpstreamKstat& kstat)
    : ring_(ring),
      target_(target),
      flushes_(abilities_of(target.offered).flush),
      dialer_(dialer),
      kstat_(kstat),
      order_(to_nanoseconds(target.options.settle)),
      outage_(kernel_ticks(ring.kernel(), to_nanoseconds(target.options.timeout)),
              kernel_ticks(ring.kernel(), moment_ns(to_nanoseconds(target.options.timeout)))),
      pause_ns_(pause_ns_min) {
    assert(target_.options.timeout.count() > 0);
}

UpstreamLink::~UpstreamLink() {
    assert(requests_.empty() && order_.empty());
    for (Requester& requester : requesters_) requester.leave();
}

hrtime_t UpstreamLink::now_ns() const {
    return kernel_ns(ring_.kernel(), ring_.now());
}

void UpstreamLink::wake_in(hrtime_t ns) {
    ring_.set_alarm(*this, ring_.now() + kernel_ticks(ring_.kernel(), ns), false);
}

void UpstreamLink::log(std::string_view what, std::string_view why) const {
    log_line(kstat_.device(), kstat_.device().empty() ? "" : ": ", target_.name, ": ", what, ": ",
             why);
}

// ---- Requests ----

void UpstreamLink::submit(Buf& buf) {
    assert(phase_ != Phase::changed);
    UpstreamRequest& request = requests_.acquire();
    request.begin(buf, abilities_of(target_.offered).request_bytes_max);
    // A flush may serve newer ones, which have waited for less.
    const bool flush = buf.op == Buf::Op::flush;
    const hrtime_t arrival = flush ? buf.newest : buf.queued - buf.held_back;
    request.since = ring_.now();
    request.waits_since = outage_.waits_since(std::min(arrival, request.since), request.since);
    if (request.writes()) order_.enter(request.range);
    if (phase_ == Phase::connected && may_go(request, order_, now_ns())) return send(request);
    waiting_.push_back(&request);
    if (phase_ == Phase::idle) pause();
    if (phase_ == Phase::connected) wake_for_waiting();
}

// To look at all would hold up the worker: a thousand requests may wait for a thousand old writes. So
// an answer, which frees only what overlaps its range, names it.
void UpstreamLink::send_what_may_go(const std::optional<UpstreamRange>& freed) {
    assert(phase_ == Phase::connected);
    if (waiting_.empty()) return;
    const hrtime_t now = now_ns();
    size_t kept = 0;
    for (UpstreamRequest* const request : waiting_) {
        const bool is_candidate = !freed || request->range.overlaps(*freed);
        if (is_candidate && may_go(*request, order_, now)) {
            send(*request);
        } else {
            waiting_[kept++] = request;
        }
    }
    waiting_.resize(kept);
    if (kept > 0) wake_for_waiting();
}

// A request that must wait for an older one goes when that has its answer. The alarm lets the others
// go when the connection is settled, and fails those that have waited for too long. Newer requests
// must not put it off.
void UpstreamLink::wake_for_waiting() {
    if (when() != never) return;
    const hrtime_t left = order_.settled_at() - now_ns();
    wake_in(left > 0 ? std::min(left, waiting_look_ns) : waiting_look_ns);
}

// Of those with as few requests, the one after the last that got one. A firewall may end an unused
// connection after a while, and that is a loss of all.
Requester& UpstreamLink::next_of_least_busy() {
    const size_t count = requesters_.size();
    assert(count > 0);
    size_t best = turn_ % count;
    for (size_t i = 1; i < count; ++i) {
        const size_t other = (turn_ + i) % count;
        if (requesters_[other].owed() < requesters_[best].owed()) best = other;
    }
    turn_ = best + 1;
    return requesters_[best];
}

void UpstreamLink::send(UpstreamRequest& request) {
    assert(request.state == UpstreamRequest::State::waiting);
    request.state = UpstreamRequest::State::sent;
    request.flush_mark = unflushed_.mark();
    if (request.exposed) kstat_.resent();
    const bool forgets = request.exposed && planted("resend-without-fua");
    if (forgets) request.request.flags &= static_cast<uint16_t>(~command_flag::fua);
    if (outage_.lasts()) outage_.sent(ring_.now());  // else no look at the clock
    next_of_least_busy().send(request);
}

void UpstreamLink::answered(RemoteRequest& remote) {
    auto& request = static_cast<UpstreamRequest&>(remote);
    assert(request.state == UpstreamRequest::State::sent);
    if (request.error == static_cast<uint32_t>(Error::eshutdown)) {
        return lost("the server shuts down");
    }
    outage_.answered(request.answered);
    const hrtime_t took = std::max<hrtime_t>(request.answered - request.sent, 0);
    kstat_.answered_in(static_cast<uint64_t>(kernel_ns(ring_.kernel(), took)));
    if (request.error == 0) {
        const bool stable = (request.request.flags & command_flag::fua) != 0 || !flushes_;
        if (request.writes() && !stable) unflushed_.acknowledged();
        if (planted("mark-late")) request.flush_mark = unflushed_.mark();
        if (request.request.type == Command::flush) unflushed_.flushed(request.flush_mark);
    }
    const bool frees = request.writes();
    const UpstreamRange freed = request.range;
    if (frees) order_.leave(request.range);
    request.buf->upstream_cookie = request.is_whole() ? request.request.cookie : 0;
    finish(request, request.take_result());
    if (frees && phase_ == Phase::connected) send_what_may_go(freed);
}

void UpstreamLink::finish(UpstreamRequest& request, int32_t result) {
    Buf& buf = *request.buf;
    requests_.release(request);
    ring_.completed(buf, result);
}

// The failure is the connection's, so later flushes may succeed.
void UpstreamLink::fail(UpstreamRequest& request) {
    if (request.writes()) {
        request.exposed ? order_.give_up(request.range) : order_.leave(request.range);
    }
    request.buf->injected = true;
    finish(request, -EIO);
}

// Requests without a client, or that have waited for too long. Gives whether there were any.
bool UpstreamLink::fail_old_ones() {
    const hrtime_t now = ring_.now();
    const size_t before = waiting_.size();
    size_t kept = 0;
    for (UpstreamRequest* const request : waiting_) {
        const bool late = outage_.is_late(request->since, request->waits_since, now) &&
                          !planted("timeout-forgotten");
        if (late || !request->buf->wanted()) {
            fail(*request);
        } else {
            waiting_[kept++] = request;
        }
    }
    waiting_.resize(kept);
    return kept < before;
}

// ---- The connection ----

void UpstreamLink::establish(std::vector<RemoteConnection> connections) {
    assert(requesters_.empty());
    assert(!connections.empty());
    turn_ = 0;
    remote_ = connections.front().remote;
    RequesterOwner& owner = *this;
    for (RemoteConnection& connection : connections) {
        requesters_.emplace_back(owner, ring_, std::move(connection),
                                 to_nanoseconds(target_.options.timeout),
                                 Requester::Receives::while_owed);
    }
    phase_ = Phase::connected;
    established_ns_ = now_ns();
    kstat_.connected(requesters_.size());
}

// The requester is in the middle of its work and cannot be destroyed here. The others tell their end,
// too.
void UpstreamLink::lost(std::string_view why) {
    if (phase_ == Phase::closing) return;
    assert(phase_ == Phase::connected);
    log("the connection is lost", why);
    phase_ = Phase::closing;
    const hrtime_t now = ring_.now();
    outage_.lost(requests_.oldest_sent(now), now);
    for (Requester& requester : requesters_) requester.give_up(why);
    kstat_.disconnected(UpstreamKstat::State::waiting);
    writes_are_lost_ = unflushed_.any() && !planted("flush-again");
    unflushed_.forget();
    if (writes_are_lost_) {
        ++losses_;
        kstat_.lost();
    }
    order_.lost(now_ns());
    wake_in(ms_ns);
}

void UpstreamLink::due() {
    switch (phase_) {
        case Phase::connected:
            fail_old_ones();
            return send_what_may_go();
        case Phase::closing:
            if (!std::ranges::all_of(requesters_, &Requester::is_closed)) return wake_in(ms_ns);
            requesters_.clear();
            take_back_requests();
            return pause();
        case Phase::pausing: {
            fail_old_ones();
            const bool over = !waiting_.empty() && now_ns() >= pause_ends_;
            const bool soon = std::ranges::any_of(waiting_, [&](const auto* each) {
                return outage_.needs_attempt(each->waits_since, ring_.now());
            });
            return over || soon ? dial() : pause();
        }
        case Phase::dialling: {
            const bool failed = fail_old_ones();  // then more may come, of a long queue
            if (auto dialled = dialer_.result()) return take_dialled(std::move(*dialled));
            return wake_in(failed ? ms_ns : look_ns);
        }
        case Phase::idle:
        case Phase::changed:
            return;
    }
}

void UpstreamLink::take_back_requests() {
    waiting_.clear();
    requests_.for_each([&](UpstreamRequest& request) { take_back(request); });
    std::ranges::sort(waiting_, {}, &UpstreamRequest::number);
    fail_old_ones();
}

// A flush may have been done or not, and the writes that it should have made stable may be lost.
bool UpstreamLink::is_lost_with_connection(const UpstreamRequest& request) const {
    if (request.request.type == Command::flush) return writes_are_lost_;
    return request.writes() && !target_.options.resend;
}

// The last flush of all waits for no other connection.
void UpstreamLink::take_back(UpstreamRequest& request) {
    const bool was_sent = request.state == UpstreamRequest::State::sent && request.sent > 0;
    request.state = UpstreamRequest::State::waiting;
    request.exposed = request.exposed || was_sent;
    request.forget_sending();
    if (request.buf->exempt && !writes_are_lost_) return finish(request, 0);
    const bool fails = request.buf->exempt || (was_sent && is_lost_with_connection(request));
    if (fails) return fail(request);
    if (was_sent && request.writes()) UpstreamOrder::resent(request.range);
    waiting_.push_back(&request);
}

// Waits before the next attempt, if a request needs the server. The wait is short again after a
// connection that stood, and after attempts that no request waits for any more. An answer is not
// enough: a server may close after each.
void UpstreamLink::pause() {
    const hrtime_t now = now_ns();
    const bool after_connection = phase_ == Phase::closing || phase_ == Phase::idle;
    if (after_connection && now - established_ns_ >= stood_ns) pause_ns_ = pause_ns_min;
    if (waiting_.empty()) {
        if (!after_connection) pause_ns_ = pause_ns_min;
        phase_ = Phase::idle;
        return;
    }
    if (phase_ != Phase::pausing) pause_ends_ = now + pause_ns_;
    phase_ = Phase::pausing;
    const UpstreamRequest& first = *waiting_.front();
    const bool fails =
        !first.buf->wanted() || outage_.is_late(first.since, first.waits_since, ring_.now());
    wake_in(fails ? ms_ns : std::clamp(pause_ends_ - now, ms_ns, waiting_look_ns));
}

void UpstreamLink::dial() {
    outage_.attempt_begins(ring_.now());
    pause_ns_ = std::min(2 * pause_ns_, pause_ns_max);
    dialer_.begin(std::min(target_.options.timeout, upstream_dial_time_max));
    phase_ = Phase::dialling;
    wake_in(look_ns);
}

void UpstreamLink::take_dialled(DialResult dialled) {
    assert(phase_ == Phase::dialling);
    if (dialled.connections.empty()) {
        if (dialled.failure != last_failure_) log("no connection", dialled.failure);
        last_failure_ = std::move(dialled.failure);
        outage_.attempt_failed(ring_.now());
        return pause();
    }
    last_failure_.clear();
    for (const RemoteConnection& connection : dialled.connections) {
        const std::string why = shortcoming(target_.offered, connection.remote);
        if (why.empty()) continue;
        log("all requests fail until a reload", why);
        phase_ = Phase::changed;
        kstat_.disconnected(UpstreamKstat::State::changed);
        for (UpstreamRequest* const request : waiting_) fail(*request);
        return waiting_.clear();
    }
    const size_t count = dialled.connections.size();
    const bool several = target_.offered.offers(transmission_flag::can_multi_conn);
    const unsigned wanted = several ? target_.options.connections : 1;
    establish(std::move(dialled.connections));
    kstat_.reconnected();
    order_.connected(now_ns());
    outage_.connected();
    const std::string fewer =
        count < wanted ? fmt::format(" over {} of {} connections", count, wanted) : "";
    log("connected again" + fewer, writes_are_lost_ ? "writes that were not flushed may be lost"
                                                    : "nothing that was acknowledged is lost");
    send_what_may_go();
}

}  // namespace blkscope::nbd
