#include "driver/nbd/client/upstream_backing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "driver/nbd/client/blocking_reader.hpp"
#include "driver/nbd/client/upstream_terms.hpp"

namespace blkscope::nbd {
namespace {

constexpr hrtime_t ms_ns = 1'000'000;
constexpr hrtime_t pause_ns_min = 100 * ms_ns;
constexpr hrtime_t pause_ns_max = 5'000 * ms_ns;
constexpr hrtime_t look_ns = 10 * ms_ns;  // how often a connection that ends or begins is looked at
constexpr hrtime_t waiting_look_ns = 100 * ms_ns;  // how often waiting requests are looked at
constexpr std::chrono::milliseconds read_time_max{1'000};  // of read_now(), which blocks the worker

hrtime_t to_nanoseconds(std::chrono::milliseconds time) {
    return std::chrono::nanoseconds(time).count();
}

}  // namespace

UpstreamBacking::UpstreamBacking(std::string name, std::unique_ptr<UpstreamDialer> dialer,
                                 RemoteConnection connection, const UpstreamOptions& options)
    : name_(std::move(name)),
      dialer_(std::move(dialer)),
      options_(options),
      offered_(connection.remote),
      abilities_(abilities_of(offered_)),
      first_(std::move(connection)),
      order_(to_nanoseconds(options.settle)),
      pause_ns_(pause_ns_min) {
    assert(dialer_ != nullptr);
    assert(options_.timeout.count() > 0);
}

UpstreamBacking::~UpstreamBacking() {
    assert(requests_.empty());
    if (requester_) requester_->leave();
}

bool UpstreamBacking::has_cache() const {
    return offered_.offers(transmission_flag::send_cache);
}

bool UpstreamBacking::rotational() const {
    return offered_.offers(transmission_flag::rotational);
}

bool UpstreamBacking::must_be_reopened() const {
    return kstat_.state() == UpstreamKstat::State::changed;
}

void UpstreamBacking::attach(Ring& ring) {
    assert(ring_ == nullptr);
    ring_ = &ring;
}

void UpstreamBacking::publish(const Subject& subject) {
    device_ = subject.name;
    kstat_.publish(subject);
}

hrtime_t UpstreamBacking::now_ns() const {
    return kernel_ns(ring_->kernel(), ring_->now());
}

void UpstreamBacking::wake_in(hrtime_t ns) {
    ring_->set_alarm(*this, ring_->now() + kernel_ticks(ring_->kernel(), ns), false);
}

void UpstreamBacking::log(std::string_view what, std::string_view why) const {
    fmt::print(stderr, "blkscope: {}{}{}: {}: {}\n", device_, device_.empty() ? "" : ": ", name_,
               what, why);
}

// ---- Requests ----

// The result of a request that never goes to the server. The last flush of all does not wait for a
// lost server. Writes that were not flushed are lost, and the device says so.
std::optional<int32_t> UpstreamBacking::refusal(Buf& buf) const {
    if (phase_ == Phase::changed) {
        buf.injected = true;
        return -EIO;
    }
    const bool stands = phase_ == Phase::fresh || phase_ == Phase::connected;
    switch (buf.op) {
        case Buf::Op::flush:
            if (!abilities_.flush || (buf.exempt && !stands)) return 0;
            return std::nullopt;
        case Buf::Op::trim:
            if (!abilities_.trim) return -EINVAL;
            break;
        case Buf::Op::write_zeroes:
            if (!abilities_.write_zeroes) return -EINVAL;
            if (buf.fast_zero && !abilities_.fast_zero) return -EOPNOTSUPP;
            break;
        case Buf::Op::cache:
            if (!has_cache()) return -EINVAL;
            break;
        case Buf::Op::read:
        case Buf::Op::write:
        case Buf::Op::block_status:
            break;
    }
    if (buf.fua && !abilities_.fua) return -EINVAL;
    if (buf.resid == 0) return 0;
    return std::nullopt;
}

std::optional<int32_t> UpstreamBacking::prepare(Buf& buf) {
    assert(ring_ != nullptr);
    assert(buf.state == Buf::State::running);
    side_.reset();
    if (const auto result = refusal(buf)) return result;
    UpstreamRequest& request = requests_.acquire();
    request.begin(buf, offered_, abilities_.request_bytes_max);
    request.since_ns = now_ns();
    if (request.writes()) order_.enter(request.range);
    waiting_.push_back(&request);
    connect_if_needed();
    if (phase_ == Phase::connected) send_what_may_go();
    return std::nullopt;
}

void UpstreamBacking::connect_if_needed() {
    if (phase_ == Phase::fresh) establish(*std::exchange(first_, std::nullopt));
    if (phase_ == Phase::idle) pause();
}

bool UpstreamBacking::may_go(const UpstreamRequest& request, hrtime_t now) const {
    return request.writes() ? order_.may_go(request.range, now)
                            : order_.may_read(request.range, now);
}

// A request that must wait for an older one goes when that has its answer. After a reconnection the
// alarm lets the others go.
void UpstreamBacking::send_what_may_go() {
    assert(phase_ == Phase::connected);
    if (waiting_.empty()) return;
    const hrtime_t now = now_ns();
    size_t kept = 0;
    for (UpstreamRequest* const request : waiting_) {
        if (may_go(*request, now)) {
            send(*request);
        } else {
            waiting_[kept++] = request;
        }
    }
    waiting_.resize(kept);
    if (kept > 0 && now < order_.settled_at()) wake_in(order_.settled_at() - now);
}

void UpstreamBacking::send(UpstreamRequest& request) {
    assert(request.state == UpstreamRequest::State::waiting);
    request.state = UpstreamRequest::State::sent;
    request.flush_mark = unflushed_.mark();
    if (request.exposed) kstat_.resent();
    requester_->send(request);
}

void UpstreamBacking::answered(RemoteRequest& remote) {
    auto& request = static_cast<UpstreamRequest&>(remote);
    assert(request.state == UpstreamRequest::State::sent);
    if (request.error == static_cast<uint32_t>(Error::eshutdown)) {
        return requester_->give_up("the server shuts down");
    }
    pause_ns_ = pause_ns_min;
    kstat_.answered_in(static_cast<uint64_t>(kernel_ns(ring_->kernel(), request.answered) -
                                             kernel_ns(ring_->kernel(), request.sent)));
    if (request.error == 0) {
        const bool stable = (request.request.flags & command_flag::fua) != 0 || !abilities_.flush;
        if (request.writes() && !stable) unflushed_.acknowledged();
        if (request.request.type == Command::flush) unflushed_.flushed(request.flush_mark);
    }
    if (request.writes()) order_.leave(request.range);
    finish(request, request.take_result());
    if (phase_ == Phase::connected) send_what_may_go();
}

void UpstreamBacking::finish(UpstreamRequest& request, int32_t result) {
    Buf& buf = *request.buf;
    requests_.release(request);
    ring_->completed(buf, result);
}

// The failure is the connection's, so later flushes may succeed.
void UpstreamBacking::fail(UpstreamRequest& request) {
    if (request.writes()) {
        request.exposed ? order_.give_up(request.range) : order_.leave(request.range);
    }
    request.buf->injected = true;
    finish(request, -EIO);
}

void UpstreamBacking::fail_all_waiting() {
    for (UpstreamRequest* const request : waiting_) fail(*request);
    waiting_.clear();
}

// Requests without a client, or that have waited for too long.
void UpstreamBacking::fail_old_ones() {
    const hrtime_t oldest = now_ns() - to_nanoseconds(options_.timeout);
    size_t kept = 0;
    for (UpstreamRequest* const request : waiting_) {
        if (request->since_ns <= oldest || !request->buf->wanted()) {
            fail(*request);
        } else {
            waiting_[kept++] = request;
        }
    }
    waiting_.resize(kept);
}

// ---- The connection ----

void UpstreamBacking::establish(RemoteConnection connection) {
    assert(!requester_);
    remote_ = connection.remote;
    RequesterOwner& owner = *this;
    requester_.emplace(owner, *ring_, std::move(connection.socket), remote_,
                       to_nanoseconds(options_.timeout), Requester::Receives::while_owed);
    phase_ = Phase::connected;
    kstat_.state_is(UpstreamKstat::State::connected);
}

// The requester is in the middle of its work and cannot be destroyed here.
void UpstreamBacking::lost(std::string_view why) {
    assert(phase_ == Phase::connected);
    log("the connection is lost", why);
    phase_ = Phase::closing;
    kstat_.state_is(UpstreamKstat::State::waiting);
    writes_are_lost_ = unflushed_.any();
    unflushed_.forget();
    if (writes_are_lost_) {
        ++losses_;
        kstat_.lost();
    }
    order_.lost(now_ns());
    wake_in(ms_ns);
}

void UpstreamBacking::due() {
    switch (phase_) {
        case Phase::connected:
            return send_what_may_go();
        case Phase::closing:
            if (!requester_->is_closed()) return wake_in(ms_ns);
            requester_.reset();
            take_back_requests();
            return pause();
        case Phase::pausing:
            fail_old_ones();
            return waiting_.empty() || now_ns() < pause_ends_ ? pause() : dial();
        case Phase::dialling:
            fail_old_ones();
            if (auto dialled = dialer_->result()) return take_dialled(std::move(*dialled));
            return wake_in(look_ns);
        case Phase::fresh:
        case Phase::idle:
        case Phase::changed:
            return;
    }
}

void UpstreamBacking::take_back_requests() {
    waiting_.clear();
    requests_.for_each([&](UpstreamRequest& request) { take_back(request); });
    std::ranges::sort(waiting_, {}, &UpstreamRequest::number);
    fail_old_ones();
}

// A flush may have been done or not, and the writes that it should have made stable may be lost.
bool UpstreamBacking::is_lost_with_connection(const UpstreamRequest& request) const {
    if (request.request.type == Command::flush) return writes_are_lost_;
    return request.writes() && !options_.resend;
}

// The last flush of all waits for no other connection.
void UpstreamBacking::take_back(UpstreamRequest& request) {
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

// Waits before the next attempt, if a request needs the server. After a time without requests the
// wait is short again.
void UpstreamBacking::pause() {
    if (waiting_.empty()) {
        phase_ = Phase::idle;
        pause_ns_ = pause_ns_min;
        return;
    }
    const hrtime_t now = now_ns();
    if (phase_ != Phase::pausing) pause_ends_ = now + pause_ns_;
    phase_ = Phase::pausing;
    wake_in(std::clamp(pause_ends_ - now, ms_ns, waiting_look_ns));
}

void UpstreamBacking::dial() {
    pause_ns_ = std::min(2 * pause_ns_, pause_ns_max);
    dialer_->begin(std::min(options_.timeout, upstream_dial_time_max));
    phase_ = Phase::dialling;
    wake_in(look_ns);
}

void UpstreamBacking::take_dialled(DialResult dialled) {
    assert(phase_ == Phase::dialling);
    if (!dialled.connection) {
        if (dialled.failure != last_failure_) log("no connection", dialled.failure);
        last_failure_ = std::move(dialled.failure);
        return pause();
    }
    last_failure_.clear();
    if (const auto why = shortcoming(offered_, dialled.connection->remote); !why.empty()) {
        log("all requests fail until a reload", why);
        phase_ = Phase::changed;
        kstat_.state_is(UpstreamKstat::State::changed);
        return fail_all_waiting();
    }
    establish(std::move(*dialled.connection));
    kstat_.reconnected();
    order_.connected(now_ns());
    log("connected again", writes_are_lost_ ? "writes that were not flushed may be lost"
                                            : "nothing that was acknowledged is lost");
    send_what_may_go();
}

// ---- Reads of the device itself ----

bool UpstreamBacking::reads_now() const {
    return phase_ == Phase::fresh ||
           (phase_ == Phase::connected && remote_.offers(transmission_flag::can_multi_conn));
}

// Before the first request the connection is free. Later a look needs a connection of its own, which
// sees flushed writes only if the server says CAN_MULTI_CONN.
bool UpstreamBacking::read_now(uint64_t offset, std::span<std::byte> to) {
    if (phase_ == Phase::fresh) {
        if (read_through(*first_, offset, to)) return true;
        first_.reset();
        phase_ = Phase::idle;
        kstat_.state_is(UpstreamKstat::State::waiting);
        return false;
    }
    if (!reads_now()) return false;
    if (!side_) side_ = dialer_->dial_now(read_time_max).connection;
    const bool done =
        side_ && shortcoming(offered_, side_->remote).empty() && read_through(*side_, offset, to);
    if (!done) side_.reset();
    return done;
}

bool UpstreamBacking::read_through(const RemoteConnection& connection, uint64_t offset,
                                   std::span<std::byte> to) const {
    const Deadline deadline = std::chrono::steady_clock::now() + read_time_max;
    while (!to.empty()) {
        const auto part = to.first(std::min<size_t>(to.size(), abilities_.request_bytes_max));
        if (!read_blocking(connection, offset, part, deadline)) return false;
        offset += part.size();
        to = to.subspan(part.size());
    }
    return true;
}

}  // namespace blkscope::nbd
