// SimulatedSocket: one end of a connected pair of stream sockets.
//
//     send ─▶ on the way ── segments, after a delay ──▶ arrived ─▶ receive
//             └──────────────── at most `room_bytes` ─────────────┘
//
// A stream has no other limits: any write may be cut anywhere, and any read may get a part.
//
// Ownership: each end has a weak pointer to the other.
// Threads:   a single one.
// Errors:    as send(2) and recv(2), as -errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "random.hpp"
#include "timeline.hpp"

namespace blkscope::simulation {

/// The properties of a connection.
struct Wire {
    uint64_t room_bytes = 65536;    // of each direction
    uint64_t segment_bytes = 8192;  // limit
    hrtime_t delay_ns_max = 20'000;
    bool is_unix = true;
};

class SimulatedSocket {
  public:
    /// Makes two connected ends.
    static std::pair<std::shared_ptr<SimulatedSocket>, std::shared_ptr<SimulatedSocket>> pair(
        Timeline& timeline, Random& random, const Wire& wire);

    SimulatedSocket(Timeline& timeline, Random& random, const Wire& wire)
        : timeline_(timeline), random_(random), wire_(wire) {}

    /// Takes as much as there is room for: 1 byte or more, -EAGAIN, -EPIPE or -ECONNRESET.
    int64_t send(std::span<const std::byte> from);
    /// Gives arrived bytes: 0 at the end of the stream, -EAGAIN, or -ECONNRESET.
    int64_t receive(std::span<std::byte> to);

    [[nodiscard]] bool readable() const;
    /// As poll(2) reports it: at most a quarter of the room is used.
    [[nodiscard]] bool writable() const;
    [[nodiscard]] uint64_t unsent_bytes() const { return sent_ - taken_; }
    [[nodiscard]] uint64_t taken_bytes() const { return taken_; }
    [[nodiscard]] uint64_t sent_bytes() const { return sent_; }
    [[nodiscard]] const Wire& wire() const { return wire_; }

    void shut_down(bool reads, bool writes);
    /// Closes this end. With `reset` the other end gets an error and loses its unread bytes.
    void close(bool reset = false);
    [[nodiscard]] bool closed() const { return closed_; }
    [[nodiscard]] bool is_peer_of(const SimulatedSocket& other) const {
        return peer_.lock().get() == &other;
    }
    [[nodiscard]] bool peer_closed() const { return peer_.expired() || peer_.lock()->closed_; }

    /// Called when readable() or writable() may have become true.
    std::function<void()> changed;

  private:
    void deliver(uint64_t bytes);
    void let_it_arrive(uint64_t bytes);
    void tell() {
        if (changed) changed();
    }

    Timeline& timeline_;
    Random& random_;
    Wire wire_;
    std::weak_ptr<SimulatedSocket> peer_;
    std::weak_ptr<SimulatedSocket> self_;

    // Bytes sent to this end.
    std::vector<std::byte> stream_;
    uint64_t first_ = 0;    // first unread byte in stream_
    uint64_t arrived_ = 0;  // bytes after first_
    hrtime_t last_arrival_ = 0;
    bool end_arrived_ = false;
    bool reads_shut_ = false;

    // Bytes that this end has sent.
    uint64_t sent_ = 0;
    uint64_t taken_ = 0;  // of those, read by the other end
    bool writes_shut_ = false;

    bool reset_ = false;
    bool closed_ = false;
};

}  // namespace blkscope::simulation
