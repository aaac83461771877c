#include "simulated_socket.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace blkscope::simulation {

std::pair<std::shared_ptr<SimulatedSocket>, std::shared_ptr<SimulatedSocket>> SimulatedSocket::pair(
    Timeline& timeline, Random& random, const Wire& wire) {
    auto one = std::make_shared<SimulatedSocket>(timeline, random, wire);
    auto other = std::make_shared<SimulatedSocket>(timeline, random, wire);
    one->peer_ = other;
    other->peer_ = one;
    one->self_ = one;
    other->self_ = other;
    return {one, other};
}

int64_t SimulatedSocket::send(std::span<const std::byte> from) {
    assert(!closed_);
    if (reset_) return -ECONNRESET;
    const auto peer = peer_.lock();
    if (writes_shut_ || !peer || peer->closed_ || peer->reads_shut_) return -EPIPE;
    assert(sent_ - taken_ <= wire_.room_bytes);
    const uint64_t room = wire_.room_bytes - (sent_ - taken_);
    const uint64_t bytes = std::min<uint64_t>(from.size(), room);
    if (bytes == 0) return from.empty() ? 0 : -EAGAIN;
    peer->stream_.insert(peer->stream_.end(), from.begin(),
                         from.begin() + static_cast<ptrdiff_t>(bytes));
    sent_ += bytes;
    peer->deliver(bytes);
    return static_cast<int64_t>(bytes);
}

// Delivers segments in order.
void SimulatedSocket::deliver(uint64_t bytes) {
    while (bytes > 0) {
        const uint64_t segment = std::min(bytes, random_.between(1, wire_.segment_bytes));
        bytes -= segment;
        let_it_arrive(segment);
    }
}

// 0 bytes mean the end of the stream.
void SimulatedSocket::let_it_arrive(uint64_t bytes) {
    const auto delay =
        static_cast<hrtime_t>(random_.between(1, static_cast<uint64_t>(wire_.delay_ns_max)));
    last_arrival_ = std::max(last_arrival_ + 1, timeline_.now() + delay);
    timeline_.after(last_arrival_ - timeline_.now(), [weak = self_, bytes] {
        const auto self = weak.lock();
        if (!self || self->closed_) return;
        self->arrived_ += bytes;
        if (bytes == 0) self->end_arrived_ = true;
        assert(self->arrived_ <= self->stream_.size() - self->first_);
        self->tell();
    });
}

int64_t SimulatedSocket::receive(std::span<std::byte> to) {
    assert(!closed_);
    if (reset_) return -ECONNRESET;
    if (reads_shut_) return 0;
    const uint64_t bytes = std::min<uint64_t>(to.size(), arrived_);
    if (bytes == 0) return end_arrived_ || to.empty() ? 0 : -EAGAIN;
    std::memcpy(to.data(), stream_.data() + first_, bytes);
    first_ += bytes;
    arrived_ -= bytes;
    if (first_ > stream_.size() / 2) {
        stream_.erase(stream_.begin(), stream_.begin() + static_cast<ptrdiff_t>(first_));
        first_ = 0;
    }
    if (const auto peer = peer_.lock()) {
        peer->taken_ += bytes;
        assert(peer->taken_ <= peer->sent_);
        peer->tell();
    }
    return static_cast<int64_t>(bytes);
}

bool SimulatedSocket::readable() const {
    return reset_ || reads_shut_ || end_arrived_ || arrived_ > 0;
}

bool SimulatedSocket::writable() const {
    return reset_ || writes_shut_ || peer_closed() || sent_ - taken_ <= wire_.room_bytes / 4;
}

void SimulatedSocket::shut_down(bool reads, bool writes) {
    if (reads) reads_shut_ = true;
    if (writes && !writes_shut_) {
        writes_shut_ = true;
        if (const auto peer = peer_.lock()) peer->let_it_arrive(0);
    }
    tell();
}

void SimulatedSocket::close(bool reset) {
    assert(!closed_);
    const bool unread = first_ < stream_.size();
    if (!writes_shut_) shut_down(false, true);
    closed_ = true;
    changed = nullptr;
    const auto peer = peer_.lock();
    if (!peer || peer->closed_) return;
    // TCP and Unix sockets both reset a stream that is closed with unread data.
    if (reset || unread) peer->reset_ = true;
    peer->tell();
}

}  // namespace blkscope::simulation
