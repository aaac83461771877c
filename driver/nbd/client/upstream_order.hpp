// UpstreamOrder: which requests to another server must wait for others.
//
//     enter() ─▶ may_go()? ─▶ with the server ─┬─ answered ─────▶ leave()
//                    ▲                         └─ lost ─┬─ sent again ─▶ resent(), later leave()
//                    └── connected() ◀─ lost() ─────────┴─ EIO ────────▶ give_up()
//
// A server may run a request after its connection has ended, even after a resend of the same
// request. NBD cannot prevent that. So four rules keep an old write away from newer requests:
//
//   - A write, trim or write_zeroes waits for an earlier one that overlaps it.
//   - After a reconnection, a request that overlaps a resent write waits until that has its answer.
//   - A write, trim or write_zeroes that overlaps a resent one waits even then. Else the old one
//     could still replace its data.
//   - A request that overlaps a write with the answer EIO waits, too.
//
// The last three rules end when the connection is `settle` old. A server that takes longer may still
// run an old write: see blkscope(1).
//
// Units:     bytes; times and `settle` in one unit, the caller's choice.
// Ownership: borrows each write from enter() to leave() or give_up().
// Threads:   a single one.
// Errors:    none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace blkscope::nbd {

struct UpstreamRange {
    uint64_t offset = 0;
    uint64_t bytes = 0;

    [[nodiscard]] bool overlaps(const UpstreamRange& other) const {
        return offset < other.offset + other.bytes && other.offset < offset + bytes;
    }
};

/// A write, trim or write_zeroes.
struct UpstreamWrite : UpstreamRange {
    bool resent = false;
};

class UpstreamOrder {
  public:
    /// More ranges of old writes than this are taken for the whole device.
    static constexpr size_t old_max = 1024;

    explicit UpstreamOrder(int64_t settle) : settle_(settle) {}
    /// No write waits, or is with the server.
    [[nodiscard]] bool empty() const { return writes_.empty(); }

    /// The write is the last one of the order.
    void enter(UpstreamWrite& write);
    /// Whether a write of the order may be with the server at `now`.
    [[nodiscard]] bool may_go(const UpstreamWrite& write, int64_t now) const;
    /// The same of a request that writes nothing, and is not in the order.
    [[nodiscard]] bool may_read(const UpstreamRange& range, int64_t now) const;
    /// The write has its answer.
    void leave(UpstreamWrite& write);

    /// The connection is lost, and the write will be sent again.
    static void resent(UpstreamWrite& write) { write.resent = true; }
    /// The write fails, but the server may have it and run it.
    void give_up(UpstreamWrite& write);
    /// The connection is lost. Nothing goes to the server before connected().
    void lost(int64_t now);
    /// There is a new connection.
    void connected(int64_t now) { settled_at_ = now + settle_; }

    /// When the latest connection is settled; 0 for the first one.
    [[nodiscard]] int64_t settled_at() const { return settled_at_; }

  private:
    static void keep(std::vector<UpstreamRange>& ranges, const UpstreamRange& range);
    void remove(const UpstreamWrite& write);

    const int64_t settle_;
    int64_t settled_at_ = 0;
    std::vector<UpstreamWrite*> writes_;  // in the order of arrival
    // Writes of a connection before, which the server may still run.
    std::vector<UpstreamRange> failed_;
    std::vector<UpstreamRange> answered_;  // after a resend
};

}  // namespace blkscope::nbd
