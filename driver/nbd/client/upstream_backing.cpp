#include "driver/nbd/client/upstream_backing.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <utility>

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/client/upstream_terms.hpp"

namespace blkscope::nbd {
namespace {

constexpr std::chrono::seconds rest_time{30};               // after a look that failed or was slow
constexpr std::chrono::seconds rest_without_connection{1};  // then it asks again
constexpr int looks_in_rest = 20;  // after another: no more than a twentieth of the time

ReadEnd read_through(const RemoteConnection& connection, uint64_t offset, std::span<std::byte> to,
                     size_t most, Deadline deadline) {
    while (!to.empty()) {
        const auto part = to.first(std::min(to.size(), most));
        const ReadEnd end = read_blocking(connection, offset, part, deadline);
        if (end != ReadEnd::done) return end;
        offset += part.size();
        to = to.subspan(part.size());
    }
    return ReadEnd::done;
}

// Reads whole blocks of the server. The device's own may be smaller.
ReadEnd read_blocks(const RemoteConnection& connection, uint64_t offset, std::span<std::byte> to,
                    size_t most, Deadline deadline) {
    const uint32_t block = connection.remote.block_size.minimum;
    const size_t before = offset % block;
    const size_t bytes = (before + to.size() + block - 1) / block * block;
    if (bytes == to.size()) return read_through(connection, offset, to, most, deadline);
    std::vector<std::byte> blocks(bytes);
    const ReadEnd end = read_through(connection, offset - before, blocks, most, deadline);
    if (end == ReadEnd::done) std::copy_n(blocks.data() + before, to.size(), to.data());
    return end;
}

}  // namespace

UpstreamBacking::UpstreamBacking(std::string name, std::unique_ptr<UpstreamDialer> dialer,
                                 std::vector<RemoteConnection> connections,
                                 const UpstreamOptions& options, const LookLimits& looks)
    : target_{std::move(name), connections.front().remote, options},
      abilities_(abilities_of(target_.offered)),
      looks_(looks),
      dialer_(std::move(dialer)),
      first_(std::move(connections)) {
    assert(dialer_ != nullptr);
    kstat_.connected(first_.size());
}

bool UpstreamBacking::has_cache() const {
    return target_.offered.offers(transmission_flag::send_cache);
}

bool UpstreamBacking::rotational() const {
    return target_.offered.offers(transmission_flag::rotational);
}

bool UpstreamBacking::must_be_reopened() const {
    return kstat_.state() == UpstreamKstat::State::changed;
}

void UpstreamBacking::attach(Ring& ring) {
    assert(ring_ == nullptr);
    ring_ = &ring;
}

// The result of a request that never goes to the server. The last flush of all does not wait for a
// lost server. Writes that were not flushed are lost, and the device says so.
std::optional<int32_t> UpstreamBacking::refusal(Buf& buf) const {
    const bool stands = link_ ? link_->is_connected() : !first_.empty();
    if (buf.exempt && !stands) return 0;
    if (link_ && link_->is_useless()) {
        buf.injected = true;
        return -EIO;
    }
    switch (buf.op) {
        case Buf::Op::flush:
            if (!abilities_.flush) return 0;
            return std::nullopt;
        case Buf::Op::trim:
            if (!abilities_.trim) return -EINVAL;
            break;
        case Buf::Op::write_zeroes:
            if (!abilities_.write_zeroes) return -EINVAL;
            if (buf.fast_zero && !abilities_.fast_zero && !planted("fast-zero-anyway")) {
                return -EINVAL;
            }
            break;
        case Buf::Op::cache:
            if (!has_cache()) return 0;  // a hint
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
    assert(!look_);
    if (const auto result = refusal(buf)) return result;
    if (!link_) {
        link_.emplace(*ring_, target_, *dialer_, kstat_);
        if (!first_.empty()) link_->establish(std::exchange(first_, {}));
    }
    link_->submit(buf);
    return std::nullopt;
}

// ---- Reads of the device itself ----

// A connection that stayed would take a place of the server.
void UpstreamBacking::looked() {
    if (!look_) return;
    side_.reset();
    const auto took = look_->end - look_->begin;
    const bool bad = took > looks_.slow || look_->failed;
    if (ring_ != nullptr && (bad || link_)) {
        const std::chrono::nanoseconds rest = bad ? rest_time : looks_in_rest * took;
        rests_until_ = kernel_ns(ring_->kernel(), ring_->now()) + rest.count();
    }
    look_.reset();
}

// A backing without a connection rests until it has one.
hrtime_t UpstreamBacking::rests_ns() const {
    if (ring_ == nullptr) return 0;
    const hrtime_t left = rests_until_ - kernel_ns(ring_->kernel(), ring_->now());
    if (left > 0) return left;
    const bool looks_later = link_ && !link_->is_connected() && allows_looks();
    return looks_later ? std::chrono::nanoseconds(rest_without_connection).count() : 0;
}

bool UpstreamBacking::reads_now() const {
    if (rests_ns() > 0) return false;
    return link_ ? allows_looks() : !first_.empty();
}

// A look beside requests needs a connection of its own, which the server must allow.
bool UpstreamBacking::allows_looks() const {
    return !link_->is_useless() && link_->remote().offers(transmission_flag::can_multi_conn);
}

// Before the first request the connections are free. Later a look needs a connection of its own, which
// sees flushed writes only if the server says CAN_MULTI_CONN.
bool UpstreamBacking::read_now(uint64_t offset, std::span<std::byte> to) {
    if (!reads_now()) return false;
    const auto now = std::chrono::steady_clock::now();
    if (!look_) look_ = Look{.begin = now, .end = now, .failed = false};
    const bool on_worker = ring_ != nullptr;
    const Deadline deadline = look_->begin + (on_worker ? looks_.max : looks_.first_max);
    const ReadEnd end = now < deadline ? read_before(deadline, offset, to) : ReadEnd::lost;
    look_->end = std::chrono::steady_clock::now();
    look_->failed = look_->failed || end != ReadEnd::done;
    if (end == ReadEnd::lost) lose_look();
    return end == ReadEnd::done;
}

ReadEnd UpstreamBacking::read_before(Deadline deadline, uint64_t offset, std::span<std::byte> to) {
    const size_t most = abilities_.request_bytes_max;
    if (!link_) return read_blocks(first_.front(), offset, to, most, deadline);
    if (!side_) {
        const auto left = deadline - std::chrono::steady_clock::now();
        DialResult dialled = dialer_->dial_now(std::chrono::ceil<std::chrono::milliseconds>(left));
        if (!dialled.connections.empty()) side_ = std::move(dialled.connections.front());
    }
    const bool usable = side_ && shortcoming(target_.offered, side_->remote).empty();
    return usable ? read_blocks(*side_, offset, to, most, deadline) : ReadEnd::lost;
}

void UpstreamBacking::lose_look() {
    side_.reset();
    if (link_) return;
    first_.clear();
    kstat_.disconnected(UpstreamKstat::State::waiting);
}

}  // namespace blkscope::nbd
