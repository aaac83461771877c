// WaitingLine: requests that have not started, in the order of their arrival. StartOrder: whether a
// device has one line, or one for each client.
//
//     refused: lack tokens ─ one comes back ─▶ paid ──┐
//                                                     ├─▶ the next request of the line
//                            waiting: to be asked ────┘
//
// Units:     requests.
// Ownership: borrows its members. A line is once in the turns at most. One with refused requests is in
//            one of the lists of such lines, or has a request that has paid.
// Threads:   a worker, with the device locked.
// Errors:    none.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "blockdev/queue/buf.hpp"
#include "blockdev/queue/fifo.hpp"

namespace blkscope {

/// The order in which requests start: see blockdev/queue/waiting_requests.hpp.
enum class StartOrder : uint8_t { arrival, fair };

/// A queue with a list of its members' operations.
class KnownQueue {
  public:
    [[nodiscard]] bool empty() const { return bufs_.empty(); }
    [[nodiscard]] Buf& front() const { return bufs_.front(); }
    void push(Buf& buf) {
        bufs_.push(buf);
        if (counts_[kind_of(buf)]++ == 0) ops_ |= bit_of(buf);
    }
    Buf& pop() {
        Buf& buf = bufs_.pop();
        assert(counts_[kind_of(buf)] > 0);
        if (--counts_[kind_of(buf)] == 0) ops_ &= static_cast<uint8_t>(~bit_of(buf));
        return buf;
    }
    /// Moves all members of `other` behind the members of this queue.
    void take_over(KnownQueue& other) {
        bufs_.take_over(other.bufs_);
        for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
        ops_ |= other.ops_;
        other.counts_ = {};
        other.ops_ = 0;
    }
    /// Whether each member has an operation of these bits. No exempt request has one.
    [[nodiscard]] bool has_only(uint8_t bits) const { return (ops_ & ~bits) == 0; }

  private:
    static_assert(Buf::op_count < 8);
    static size_t kind_of(const Buf& buf) {
        return buf.exempt ? Buf::op_count : static_cast<size_t>(buf.op);
    }
    static uint8_t bit_of(const Buf& buf) { return static_cast<uint8_t>(1U << kind_of(buf)); }

    BufQueue bufs_;
    std::array<uint32_t, Buf::op_count + 1> counts_{};
    uint8_t ops_ = 0;
};

struct WaitingLine {
    BufQueue paid;       // one at most: has its tokens since it was refused, and is next
    KnownQueue waiting;  // not asked yet
    KnownQueue refused;  // lack tokens; arrived before the waiting ones
    bool has_turn = false;
    WaitingLine* next = nullptr;
    WaitingLine* next_refused = nullptr;

    /// The request that is asked next; there is one.
    [[nodiscard]] Buf& front() const { return paid.empty() ? waiting.front() : paid.front(); }
    [[nodiscard]] bool may_have_turn() const { return !paid.empty() || !waiting.empty(); }
    [[nodiscard]] bool empty() const { return !may_have_turn() && refused.empty(); }
};

using WaitingLines = Fifo<WaitingLine, &WaitingLine::next>;
using RefusedLines = Fifo<WaitingLine, &WaitingLine::next_refused>;

}  // namespace blkscope
